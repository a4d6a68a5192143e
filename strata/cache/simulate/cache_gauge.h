// How well the slots did over the last steps of a run, beside what could have been done: the best
// fixed choice of experts, and the optimum that knew the future. And what another GiB of slots
// would have brought. Answers "is it the cache's size or its policy?" while an engine runs.
//
// AddStep copies the step's uses into a ring, about a nanosecond a use; all else is done by Report,
// between requests. Used by one thread.
#ifndef STRATA_CACHE_SIMULATE_CACHE_GAUGE_H_
#define STRATA_CACHE_SIMULATE_CACHE_GAUGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

class CacheGauge {
 public:
  // Over the window, shares of its uses; all 0 before the first step.
  struct Reading {
    size_t steps = 0;
    double hit_rate = 0;       // As it was,
    double best_static = 0;    // with the slots filled by the window's own hottest experts,
    double optimum = 0;        // and by Belady, from those.
    double lru = 0;            // Of a least-recently-used cache, from those;
    double lru_with_more = 0;  // it would be this with so many more bytes,
    double saved_bytes = 0;    // which would save so many over the link each step.
  };

  // The last `window` steps are kept: 12 bytes a use.
  CacheGauge(const ExpertGeometry& geometry, size_t window);

  // `missed`: those of the uses that no slot served.
  void AddStep(absl::Span<const ExpertUse> uses, int num_missed);
  // `slots_of_class` as they are; `more_bytes` of slots are divided as these are.
  Reading Report(absl::Span<const int> slots_of_class, int64_t more_bytes) const;

 private:
  struct StepOf {
    std::vector<ExpertUse> uses;
    int num_missed = 0;
  };

  const ExpertGeometry geometry_;
  std::vector<StepOf> ring_;
  size_t num_steps_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_CACHE_GAUGE_H_
