// Hears what happens in a tier: counters, the ledger of savings and the trace of a run are made of
// this alone. With the residency at the start, OnLeft, OnSwapVisible and OnCameBack give for every
// step which experts the slots serve, and so its exact hits and misses.
//
// A step number in a call means: from the beginning of that step on. Called by the decode thread
// between steps; must not call the tier. Who does not care for something does not override it.
#ifndef STRATA_CACHE_TIER_TIER_OBSERVER_H_
#define STRATA_CACHE_TIER_TIER_OBSERVER_H_

#include <cstdint>

#include "strata/cache/policy/swap_policy.h"

namespace strata {

class TierObserver {
 public:
  enum class LeftFor { kSwap, kLoan, kLanding };
  enum class CameBy {
    kFill,
    kRefill,   // It had left for a loan.
    kLanding,  // It landed there in the step before.
  };

  virtual ~TierObserver() = default;

  // The rates that decisions use from here on.
  virtual void OnRates(int64_t /*step*/, const SwapRates& /*rates*/) {}

  // The policy chose it before the step. After that it is visible, dropped or failed.
  virtual void OnSwapDecided(int64_t /*step*/, const SwapPolicy::Swap& /*swap*/) {}
  // The newcomer is served from the slot; the swap was decided by these rates.
  virtual void OnSwapVisible(int64_t /*step*/, const SwapPolicy::Swap& /*swap*/,
                             const SwapRates& /*rates*/, int /*slot*/) {}
  // There was no place for its victim, or a loan came first: nothing has changed.
  virtual void OnSwapDropped(int64_t /*step*/, const SwapPolicy::Swap& /*swap*/) {}
  // Its victim has left, its copies have failed.
  virtual void OnSwapFailed(int64_t /*step*/, const SwapPolicy::Swap& /*swap*/) {}

  // The expert is served from host memory.
  virtual void OnLeft(int64_t /*step*/, int /*expert*/, int /*slot*/, LeftFor /*why*/) {}
  // The expert is served from the slot, not by a swap.
  virtual void OnCameBack(int64_t /*step*/, int /*expert*/, int /*slot*/, CameBy /*how*/) {}
  // Its copy failed, or its slot was not right: it stays in host memory.
  virtual void OnFillFailed(int64_t /*step*/, int /*expert*/) {}

  // So many slots are offered to the step.
  virtual void OnOffered(int64_t /*step*/, int /*num_slots*/) {}
  // The step stored the expert's bytes in an offered slot; OnCameBack says whether it stays.
  virtual void OnLanded(int64_t /*step*/, int /*expert*/, int /*slot*/) {}

  virtual void OnLent(int64_t /*step*/, int /*num_slots*/) {}
  // What left for loans is back, or a loan has come in between, so long after the first token.
  virtual void OnRefilled(int64_t /*ns*/) {}

  // Swaps or a fill had to stand back at the step: no patch buffer, or a refusal.
  virtual void OnPostponed(int64_t /*step*/) {}
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TIER_OBSERVER_H_
