#include "strata/cache/tier/event_counter.h"

#include <cstdint>

#include "strata/cache/policy/swap_policy.h"

namespace strata {

using Swap = SwapPolicy::Swap;

void EventCounter::OnSwapDecided(int64_t /*step*/, const Swap& /*swap*/) {
  ++counters_.swaps_decided;
}

void EventCounter::OnSwapVisible(int64_t /*step*/, const Swap& swap, const SwapRates& /*rates*/,
                                 int /*slot*/) {
  ++counters_.swaps_visible;
  counters_.swap_bytes += swap.bytes;
}

void EventCounter::OnSwapDropped(int64_t /*step*/, const Swap& /*swap*/) {
  ++counters_.swaps_dropped;
}

void EventCounter::OnSwapFailed(int64_t /*step*/, const Swap& /*swap*/) {
  ++counters_.swaps_failed;
}

void EventCounter::OnCameBack(int64_t /*step*/, int expert, int /*slot*/, CameBy how) {
  if (how == CameBy::kLanding) {
    ++counters_.landings_shown;
    return;
  }
  ++counters_.fills;
  counters_.fill_bytes += geometry_.BlobBytes(expert);
  if (how == CameBy::kRefill) ++counters_.refilled;
}

void EventCounter::OnFillFailed(int64_t /*step*/, int /*expert*/) { ++counters_.fills_failed; }

void EventCounter::OnOffered(int64_t /*step*/, int num_slots) { counters_.offered += num_slots; }

void EventCounter::OnLanded(int64_t /*step*/, int expert, int /*slot*/) {
  ++counters_.landed;
  counters_.landed_bytes += geometry_.BlobBytes(expert);
}

void EventCounter::OnLent(int64_t /*step*/, int num_slots) { counters_.lent += num_slots; }

void EventCounter::OnRefilled(int64_t ns) { counters_.refill_ns += ns; }

void EventCounter::OnPostponed(int64_t /*step*/) { ++counters_.postponed; }

}  // namespace strata
