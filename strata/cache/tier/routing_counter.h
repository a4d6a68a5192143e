// Counts what the router chose: hits, misses by path, and the bytes that serving them reads.
//
// Used by the decode thread alone; nothing is allocated after the constructor.
#ifndef STRATA_CACHE_TIER_ROUTING_COUNTER_H_
#define STRATA_CACHE_TIER_ROUTING_COUNTER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/tier_counters.h"

namespace strata {

class RoutingCounter {
 public:
  // Misses that have an address are served by `path`; the others are staged.
  RoutingCounter(const ExpertGeometry& geometry, const ExpertTable& table, MissPath path,
                 TierCounters& counters);

  // Choices of expert `number` by so many tokens of that step. Steps ascend.
  // Who serves the misses of steps from now on.
  void SetPath(MissPath path) { path_ = path; }
  void Count(int number, int64_t step, int uses);

 private:
  const ExpertGeometry& geometry_;
  const ExpertTable& table_;
  TierCounters& counters_;
  MissPath path_;
  std::vector<int64_t> last_step_;  // By number: in which it was counted.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_ROUTING_COUNTER_H_
