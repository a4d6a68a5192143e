#include "strata/generate/interrupt.h"

#include <signal.h>

#include <csignal>

#include "glog/logging.h"

namespace strata {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void Handle(int) { interrupted = 1; }

// With SA_RESETHAND the second signal meets the default action.
void Install() {
  struct sigaction action {};
  action.sa_handler = Handle;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  PCHECK(sigaction(SIGINT, &action, nullptr) == 0);
}

}  // namespace

InterruptHandler::InterruptHandler() { Reset(); }

InterruptHandler::~InterruptHandler() { signal(SIGINT, SIG_DFL); }

bool InterruptHandler::is_interrupted() const { return interrupted != 0; }

void InterruptHandler::Reset() {
  interrupted = 0;
  Install();
}

}  // namespace strata
