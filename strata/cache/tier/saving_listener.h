// Keeps a SavingLedger by what happens in a tier. Used by the decode thread alone.
#ifndef STRATA_CACHE_TIER_SAVING_LISTENER_H_
#define STRATA_CACHE_TIER_SAVING_LISTENER_H_

#include <cstdint>

#include "strata/cache/policy/saving_ledger.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/tier_observer.h"

namespace strata {

class SavingListener : public TierObserver {
 public:
  explicit SavingListener(SavingLedger& ledger) : ledger_(ledger) {}

  void OnSwapVisible(int64_t /*step*/, const SwapPolicy::Swap& swap, const SwapRates& rates,
                     int /*slot*/) override {
    ledger_.Open(swap, rates);
  }
  void OnLeft(int64_t /*step*/, int expert, int /*slot*/, LeftFor /*why*/) override {
    ledger_.SettleFor(expert);
  }
  void OnCameBack(int64_t /*step*/, int expert, int /*slot*/, CameBy /*how*/) override {
    ledger_.SettleFor(expert);
  }

 private:
  SavingLedger& ledger_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SAVING_LISTENER_H_
