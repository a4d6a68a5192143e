// Time since it was made, by a clock that never goes back.
#ifndef STRATA_CORE_STOPWATCH_H_
#define STRATA_CORE_STOPWATCH_H_

#include <chrono>
#include <cstdint>

namespace strata {

class Stopwatch {
 public:
  int64_t ns() const { return std::chrono::nanoseconds(Clock::now() - start_).count(); }
  double ms() const { return static_cast<double>(ns()) / 1e6; }
  double seconds() const { return static_cast<double>(ns()) / 1e9; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace strata

#endif  // STRATA_CORE_STOPWATCH_H_
