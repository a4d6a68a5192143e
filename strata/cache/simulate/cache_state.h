// Who is in the slots during a replay, and what steps cost with it: the part that all replays
// share.
//
// Used by one thread.
#ifndef STRATA_CACHE_SIMULATE_CACHE_STATE_H_
#define STRATA_CACHE_SIMULATE_CACHE_STATE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/simulate/replay_counts.h"

namespace strata {

class CacheState {
 public:
  explicit CacheState(const ExpertGeometry& geometry);

  void SetResident(int number, bool resident) { resident_[number] = resident ? 1 : 0; }
  bool IsResident(int number) const { return resident_[number] != 0; }
  // Counts the step with the residents as they are; `missed` becomes those it had to read
  // elsewhere.
  void CountStep(absl::Span<const ExpertUse> uses, int num_tokens, std::vector<int>& missed);

  ReplayCounts& counts() { return counts_; }

 private:
  std::vector<uint8_t> resident_;      // By number.
  std::vector<int64_t> expert_bytes_;  // By number.
  ReplayCounts counts_;
};

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_CACHE_STATE_H_
