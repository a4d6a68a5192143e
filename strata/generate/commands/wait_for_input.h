// Waiting for a file descriptor or Ctrl-C, whichever comes first.
#ifndef STRATA_GENERATE_COMMANDS_WAIT_FOR_INPUT_H_
#define STRATA_GENERATE_COMMANDS_WAIT_FOR_INPUT_H_

#include <poll.h>

#include <cerrno>
#include <iterator>

#include "strata/generate/commands/interrupt.h"

namespace strata {

// False when the interrupt comes first.
inline bool WaitForInput(int fd, const InterruptHandler& interrupt) {
  pollfd ready[] = {{.fd = fd, .events = POLLIN, .revents = 0},
                    {.fd = interrupt.wake_fd(), .events = POLLIN, .revents = 0}};
  while (poll(ready, std::size(ready), /*timeout=*/-1) < 0 && errno == EINTR) continue;
  return ready[1].revents == 0;
}

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_WAIT_FOR_INPUT_H_
