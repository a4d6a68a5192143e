// Compares slots in which experts have landed with the experts' source: all of them before they are
// shown, for which the decode thread waits, or a sample afterwards, for which it does not.
//
// Used by the decode thread alone, between steps; nothing is allocated after the constructor.
// Collaborators outlive it.
#ifndef STRATA_CACHE_TIER_LANDING_CHECKS_H_
#define STRATA_CACHE_TIER_LANDING_CHECKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/transfer/fill_item.h"

namespace strata {

class LandingChecks {
 public:
  // At most `max_landings` between two steps.
  LandingChecks(const Residency& residency, ExpertMover& mover, SlotVerify verify,
                int max_landings);

  // Before these are shown; returns at once unless all are to be compared. kDataLoss when a slot
  // differs, errors of the device otherwise.
  absl::Status CheckBeforeShown(absl::Span<const Residency::Placement> arriving);
  // They were shown: some of them will be compared when the mover has time. Until then nobody else
  // may have their slots, see Reads.
  void NoteShown(absl::Span<const Residency::Placement> shown);
  // Starts what is due, and says how what has ended did.
  absl::Status Advance();
  // Whether the slot of an expert is being read.
  bool Reads(int expert) const;
  // The same as Advance, when nothing is read any more.
  absl::Status Finish();

  int64_t num_verified() const { return num_verified_; }
  int64_t num_waits() const { return num_waits_; }

 private:
  void Add(const Residency::Placement& placement);
  absl::Status Take();

  const Residency& residency_;
  ExpertMover& mover_;
  const SlotVerify verify_;
  int64_t num_shown_ = 0;
  std::vector<FillItem> items_;  // To be read, or being read.
  std::vector<int> experts_;     // As items_.
  bool reading_ = false;
  int64_t num_verified_ = 0, num_waits_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_LANDING_CHECKS_H_
