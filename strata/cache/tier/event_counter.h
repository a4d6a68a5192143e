// Counts what happens in a tier: see TierCounters. Used by the decode thread alone.
#ifndef STRATA_CACHE_TIER_EVENT_COUNTER_H_
#define STRATA_CACHE_TIER_EVENT_COUNTER_H_

#include <cstdint>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/cache/tier/tier_observer.h"

namespace strata {

class EventCounter : public TierObserver {
 public:
  EventCounter(const ExpertGeometry& geometry, TierCounters& counters)
      : geometry_(geometry), counters_(counters) {}

  void OnSwapDecided(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnSwapVisible(int64_t step, const SwapPolicy::Swap& swap, const SwapRates& rates,
                     int slot) override;
  void OnSwapDropped(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnSwapFailed(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnCameBack(int64_t step, int expert, int slot, CameBy how) override;
  void OnFillFailed(int64_t step, int expert) override;
  void OnOffered(int64_t step, int num_slots) override;
  void OnLanded(int64_t step, int expert, int slot) override;
  void OnLent(int64_t step, int num_slots) override;
  void OnRefilled(int64_t ns) override;
  void OnPostponed(int64_t step) override;

 private:
  const ExpertGeometry& geometry_;
  TierCounters& counters_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_EVENT_COUNTER_H_
