// The one journal of a tier: its parts write what happens, once, and all who listen hear it, in the
// order in which they were added.
//
// Used by the decode thread alone. Listeners outlive it.
#ifndef STRATA_CACHE_TIER_TIER_JOURNAL_H_
#define STRATA_CACHE_TIER_TIER_JOURNAL_H_

#include <cstdint>
#include <vector>

#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/tier_observer.h"

namespace strata {

class TierJournal : public TierObserver {
 public:
  void AddListener(TierObserver& listener) { listeners_.push_back(&listener); }

  void OnRates(int64_t step, const SwapRates& rates) override;
  void OnSwapDecided(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnSwapVisible(int64_t step, const SwapPolicy::Swap& swap, const SwapRates& rates,
                     int slot) override;
  void OnSwapDropped(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnSwapFailed(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnLeft(int64_t step, int expert, int slot, LeftFor why) override;
  void OnCameBack(int64_t step, int expert, int slot, CameBy how) override;
  void OnFillFailed(int64_t step, int expert) override;
  void OnOffered(int64_t step, int num_slots) override;
  void OnLanded(int64_t step, int expert, int slot) override;
  void OnLent(int64_t step, int num_slots) override;
  void OnRefilled(int64_t ns) override;
  void OnPostponed(int64_t step) override;

 private:
  std::vector<TierObserver*> listeners_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TIER_JOURNAL_H_
