// What a replay counted, in the units of the engine's ledger.
//
// Plain values. An entry is an expert chosen for a token; a use is an expert that a step read,
// however many tokens chose it: bytes count once a use. Sizes in bytes.
#ifndef STRATA_CACHE_SIMULATE_REPLAY_COUNTS_H_
#define STRATA_CACHE_SIMULATE_REPLAY_COUNTS_H_

#include <cstdint>

namespace strata {

struct ReplayCounts {
  int64_t steps = 0;
  int64_t tokens = 0;
  int64_t routed = 0;  // Entries,
  int64_t hits = 0;    // and those that a slot served.
  int64_t uses = 0;
  int64_t missed_uses = 0;
  int64_t slot_bytes = 0;  // Of uses that were hits,
  int64_t link_bytes = 0;  // and of those that were not.
  int64_t admissions = 0;  // Experts that came into slots after the first step,
  int64_t copies = 0;      // those of them that a copy of their own brought,
  int64_t copy_bytes = 0;  // and its bytes.

  int64_t misses() const { return routed - hits; }
  double hit_rate() const {
    return routed == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(routed);
  }
  // Experts that crossed the link.
  int64_t transfers() const { return missed_uses + copies; }
  friend bool operator==(const ReplayCounts&, const ReplayCounts&) = default;
};

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_REPLAY_COUNTS_H_
