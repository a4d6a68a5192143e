// The hits of a least-recently-used cache of every size, from one pass over a log: an expert is in
// the cache of its size class when fewer others of the class were used since its last use than the
// cache has slots (its stack distance). The same hits as LruPolicy gives where every miss may come
// in; started empty, or from a ranking.
//
// Thread-compatible once made.
#ifndef STRATA_CACHE_SIMULATE_LRU_CURVE_H_
#define STRATA_CACHE_SIMULATE_LRU_CURVE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {

class LruCurve {
 public:
  // Slots that nothing fills at the start, or the hottest of the ranking do; it also decides among
  // experts of one step.
  LruCurve(const RoutingLog& log, absl::Span<const int> hottest_first, bool starts_filled);

  // By size class, as many slots. `admissions` is not counted.
  ReplayCounts Counts(absl::Span<const int> slots_of_class) const;

 private:
  // By stack distance; the last is for what no size would have held.
  struct OfClass {
    std::vector<int64_t> entries;
    std::vector<int64_t> uses;
    std::vector<int64_t> bytes;
  };

  // The class's part of a step.
  void Add(absl::Span<const ExpertUse> uses, absl::Span<const int> depths, OfClass& of_class);

  std::vector<int64_t> expert_bytes_;  // By number.
  ReplayCounts totals_;
  std::vector<OfClass> classes_;
};

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_LRU_CURVE_H_
