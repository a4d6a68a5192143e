// Ctrl-C while an answer is under way: the first one asks for its end, a second one ends the
// process as usual.
#ifndef STRATA_GENERATE_INTERRUPT_H_
#define STRATA_GENERATE_INTERRUPT_H_

namespace strata {

// Handles SIGINT for as long as it lives; one at a time in a process. System calls that wait are
// not restarted, so whoever reads a line learns of it.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

  // Whether the signal has come since the last Reset.
  bool is_interrupted() const;
  // Forgets it, and takes the next one again.
  void Reset();
};

}  // namespace strata

#endif  // STRATA_GENERATE_INTERRUPT_H_
