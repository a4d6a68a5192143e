// The least that any policy could have read over the link, knowing all that follows (Belady 1966,
// with bypass): after each step the experts are kept that are used again soonest, of those that
// were in slots or were just read.
//
// Exact for uses (an expert a step, however many tokens chose it) where blobs are of one size, and
// for given slots by size class, since an expert fits the slots of its class alone. Another
// division of the same bytes among the classes might do better: OptimumBound says how much at most,
// as if all blobs were as small as the smallest.
#ifndef STRATA_CACHE_SIMULATE_OPTIMUM_H_
#define STRATA_CACHE_SIMULATE_OPTIMUM_H_

#include <cstdint>

#include "absl/types/span.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {

// `residents` as for CacheReplay.
ReplayCounts Optimum(const RoutingLog& log, absl::Span<const int> slots_of_class,
                     absl::Span<const int> residents);

// Uses that no cache of so many bytes for experts can keep off the link, whatever its slots.
int64_t OptimumBound(const RoutingLog& log, int64_t bytes, absl::Span<const int> residents);

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_OPTIMUM_H_
