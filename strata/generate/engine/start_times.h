// What the start of a run took, part by part in the order in which the parts came: what a user waits
// for before the first token is computed. Used by one thread.
#ifndef STRATA_GENERATE_ENGINE_START_TIMES_H_
#define STRATA_GENERATE_ENGINE_START_TIMES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "strata/core/stopwatch.h"

namespace strata {

class StartTimes {
 public:
  struct Part {
    std::string name;
    double ms = 0;
  };

  // What passed since the part before, or since this was made, was the part of this name.
  void EndPart(std::string name) {
    const double now_ms = clock_.ms();
    parts_.push_back({.name = std::move(name), .ms = now_ms - std::exchange(last_ms_, now_ms)});
  }

  absl::Span<const Part> parts() const { return parts_; }

 private:
  const Stopwatch clock_;
  double last_ms_ = 0;
  std::vector<Part> parts_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_START_TIMES_H_
