// Hears what a tier decides and when it shows, so that a run can be recorded and replayed: with the
// residency at the start, OnLeft, OnSwapVisible and OnCameBack give for every step which experts
// the slots serve, and so its exact hits and misses.
//
// A step number in a call means: from the beginning of that step on. Called by the decode thread
// between steps; must not call the tier.
#ifndef STRATA_CACHE_TIER_TIER_OBSERVER_H_
#define STRATA_CACHE_TIER_TIER_OBSERVER_H_

#include <cstdint>

#include "strata/cache/policy/swap_policy.h"

namespace strata {

class TierObserver {
 public:
  virtual ~TierObserver() = default;

  // The rates that decisions use from here on.
  virtual void OnRates(int64_t step, const SwapRates& rates) = 0;
  // The policy chose it before the step. Some of them never show: see the counters.
  virtual void OnSwapDecided(int64_t step, const SwapPolicy::Swap& swap) = 0;
  // The newcomer of a swap is served from the slot.
  virtual void OnSwapVisible(int64_t step, int newcomer, int slot) = 0;
  // The expert is served from host memory: it is a victim, or its slot was lent.
  virtual void OnLeft(int64_t step, int expert, int slot) = 0;
  // The expert is served from the slot after a fill or refill.
  virtual void OnCameBack(int64_t step, int expert, int slot) = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TIER_OBSERVER_H_
