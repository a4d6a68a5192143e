#include "strata/generate/commands/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "glog/logging.h"

namespace strata {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// The ends of a pipe: a signal puts a byte into it.
int wake_out = -1;
int wake_in = -1;

void Handle(int) {
  const int saved = errno;
  interrupted = 1;
  if (write(wake_in, "", 1) < 0) {
    // It is full: whoever waits wakes anyway.
  }
  errno = saved;
}

// With SA_RESETHAND the second signal meets the default action. With SA_RESTART a write to the
// terminal that a signal finds on its way goes on, and what waits is woken by the pipe.
void Install() {
  struct sigaction action {};
  action.sa_handler = Handle;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  PCHECK(sigaction(SIGINT, &action, nullptr) == 0);
}

}  // namespace

InterruptHandler::InterruptHandler() {
  int ends[2];
  PCHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  wake_out = ends[0];
  wake_in = ends[1];
  Reset();
}

InterruptHandler::~InterruptHandler() {
  signal(SIGINT, SIG_DFL);
  close(wake_in);
  close(wake_out);
}

int InterruptHandler::wake_fd() const { return wake_out; }

bool InterruptHandler::is_interrupted() const { return interrupted != 0; }

void InterruptHandler::Reset() {
  interrupted = 0;
  char byte;
  while (read(wake_out, &byte, 1) == 1) continue;
  Install();
}

}  // namespace strata
