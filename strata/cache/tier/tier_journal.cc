#include "strata/cache/tier/tier_journal.h"

#include <cstdint>

#include "strata/cache/policy/swap_policy.h"

namespace strata {

using Swap = SwapPolicy::Swap;

void TierJournal::OnRates(int64_t step, const SwapRates& rates) {
  for (TierObserver* listener : listeners_) listener->OnRates(step, rates);
}

void TierJournal::OnSwapDecided(int64_t step, const Swap& swap) {
  for (TierObserver* listener : listeners_) listener->OnSwapDecided(step, swap);
}

void TierJournal::OnSwapVisible(int64_t step, const Swap& swap, const SwapRates& rates, int slot) {
  for (TierObserver* listener : listeners_) listener->OnSwapVisible(step, swap, rates, slot);
}

void TierJournal::OnSwapDropped(int64_t step, const Swap& swap) {
  for (TierObserver* listener : listeners_) listener->OnSwapDropped(step, swap);
}

void TierJournal::OnSwapFailed(int64_t step, const Swap& swap) {
  for (TierObserver* listener : listeners_) listener->OnSwapFailed(step, swap);
}

void TierJournal::OnLeft(int64_t step, int expert, int slot, LeftFor why) {
  for (TierObserver* listener : listeners_) listener->OnLeft(step, expert, slot, why);
}

void TierJournal::OnCameBack(int64_t step, int expert, int slot, CameBy how) {
  for (TierObserver* listener : listeners_) listener->OnCameBack(step, expert, slot, how);
}

void TierJournal::OnFillFailed(int64_t step, int expert) {
  for (TierObserver* listener : listeners_) listener->OnFillFailed(step, expert);
}

void TierJournal::OnOffered(int64_t step, int num_slots) {
  for (TierObserver* listener : listeners_) listener->OnOffered(step, num_slots);
}

void TierJournal::OnLanded(int64_t step, int expert, int slot) {
  for (TierObserver* listener : listeners_) listener->OnLanded(step, expert, slot);
}

void TierJournal::OnLent(int64_t step, int num_slots) {
  for (TierObserver* listener : listeners_) listener->OnLent(step, num_slots);
}

void TierJournal::OnRefilled(int64_t ns) {
  for (TierObserver* listener : listeners_) listener->OnRefilled(ns);
}

void TierJournal::OnPostponed(int64_t step) {
  for (TierObserver* listener : listeners_) listener->OnPostponed(step);
}

}  // namespace strata
