// Ctrl-C while an answer is under way: the first one asks for its end, a second one ends the
// process as usual.
#ifndef STRATA_GENERATE_COMMANDS_INTERRUPT_H_
#define STRATA_GENERATE_COMMANDS_INTERRUPT_H_

namespace strata {

// Handles SIGINT for as long as it lives; one at a time in a process.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

  // Whether the signal has come since the last Reset.
  bool is_interrupted() const;
  // Readable (poll(2)) from the signal until the next Reset: whoever waits for something else waits
  // for this as well, and no signal falls between a look and a wait.
  int wake_fd() const;
  // Forgets it, and takes the next one again.
  void Reset();
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_INTERRUPT_H_
