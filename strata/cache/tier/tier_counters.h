// What a tier has counted, exactly: routed = hits + all misses.
//
// Plain values. Sizes in bytes, times in nanoseconds.
#ifndef STRATA_CACHE_TIER_TIER_COUNTERS_H_
#define STRATA_CACHE_TIER_TIER_COUNTERS_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "strata/cache/tier/expert_entry.h"

namespace strata {

// How a miss is served.
enum class MissPath {
  kRead,   // The device reads host memory in place.
  kCpu,    // The CPU computes the expert where it lies.
  kStage,  // It is copied to a stage and from there to the device first.
};
constexpr int kNumMissPaths = 3;
absl::string_view NameOf(MissPath path);

struct TierCounters {
  // Each routed entry, an expert chosen for a token, is one hit or one miss.
  int64_t routed = 0;
  int64_t hits = 0;
  std::array<int64_t, kNumMissPaths> misses = {};
  // Bytes of slices by where they are read, each expert once a step however many tokens chose it.
  // By EntryForm; kPageable is the file's page cache, or plain memory.
  std::array<int64_t, kNumEntryForms> bytes = {};

  // Rounds: due ones, and those that did not take place because the one before it, a fill or a loan
  // was still under way, or swaps had taken their share of the time.
  int64_t rounds = 0;
  int64_t rounds_skipped = 0;
  // Steps at which a round, or a fill, had to stand back: no patch buffer, or a refusal.
  int64_t postponed = 0;
  // Swaps: decided = visible + failed + dropped + those under way. Dropped ones had no spare place
  // for their victim, or a loan came first.
  int64_t swaps_decided = 0;
  int64_t swaps_visible = 0;
  int64_t swaps_failed = 0;
  int64_t swaps_dropped = 0;
  int64_t swap_bytes = 0;  // Of visible swaps.
  // Of visible swaps; see SavingLedger.
  double predicted_saving_ns = 0;
  double settled_predicted_ns = 0;
  double realized_saving_ns = 0;
  int64_t swap_round_ns = 0;    // In swap code on the decode thread.
  int64_t waits_for_swaps = 0;  // Waits for the mover within a step: 0.

  int64_t fills = 0;  // Experts that came by a fill at start or a refill.
  int64_t fill_bytes = 0;
  int64_t fills_failed = 0;

  int64_t offered = 0;  // Slots, of all steps; those of a step that took none as well.
  int64_t landed = 0;   // Missed experts that a step has stored in an offered slot,
  int64_t landed_bytes = 0;
  int64_t landings_shown = 0;  // and those that stayed.
  int64_t landings_verified = 0;
  int64_t landing_waits = 0;  // For checks and places of victims.

  int64_t lent = 0;        // Slots, of all loans.
  int64_t refilled = 0;    // Experts that came back after a loan.
  int64_t refill_ns = 0;   // From a first token to the last expert's return, of all refills.
  int64_t lend_waits = 0;  // Waits for copies under way when a loan began.
  int64_t lend_wait_ns = 0;

  int64_t num_misses() const { return misses[0] + misses[1] + misses[2]; }
  int64_t bytes_from(EntryForm form) const { return bytes[static_cast<int>(form)]; }
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TIER_COUNTERS_H_
