// A group of experts on their way into slots: from the moment their copies start until the table
// points to the slots, or the copies have failed and the slots are empty again.
//
// Used by the decode thread alone, between steps; nothing is allocated after warm-up. Collaborators
// outlive it.
#ifndef STRATA_CACHE_TIER_SLOT_COPIES_H_
#define STRATA_CACHE_TIER_SLOT_COPIES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/device_events.h"

namespace strata {

class SlotCopies {
 public:
  // At most `max_copies` at once.
  SlotCopies(Residency& residency, ExpertMover& mover, int max_copies);

  bool empty() const { return placements_.empty(); }
  absl::Span<const Residency::Placement> placements() const { return placements_; }
  int64_t bytes() const { return bytes_; }

  // The expert goes into a slot that is empty or draining. Before Start.
  void Add(const Residency::Placement& placement);
  // The mover, which is not busy, copies them; items are in the order of Add.
  void Start(const DeviceEvents& after, SlotVerify verify);

  enum class Outcome {
    kUnderWay,  // Copies run, or the table could not be changed: ask again before a later step.
    kShown,     // All experts are resident.
    kFailed,    // work() says why; all slots are empty, entries as they were.
  };
  // Asks the mover, and shows the experts in the table once all copies have ended. Blocks only with
  // kForBuffers, for buffers. An error is the table's: ask again. After kShown and kFailed the
  // group is to be cleared.
  absl::StatusOr<Outcome> Advance(ExpertTable::Wait wait);
  // How the mover's work ended.
  const ExpertMover::Outcome& work() const { return work_; }
  void Clear();

 private:
  Residency& residency_;
  ExpertMover& mover_;
  std::vector<Residency::Placement> placements_;
  std::vector<FillItem> items_;
  int64_t bytes_ = 0;
  bool copied_ = false;
  ExpertMover::Outcome work_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SLOT_COPIES_H_
