#include "strata/cache/tier/slot_copies.h"

#include "absl/status/statusor.h"
#include "glog/logging.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/residency.h"
#include "strata/core/device_events.h"
#include "strata/core/status_macros.h"

namespace strata {

SlotCopies::SlotCopies(Residency& residency, ExpertMover& mover, int max_copies)
    : residency_(residency), mover_(mover) {
  placements_.reserve(max_copies);
  items_.reserve(max_copies);
}

void SlotCopies::Add(const Residency::Placement& placement) {
  residency_.slots().StartCopy(placement.slot, placement.expert);
  residency_.SetBusy(placement.expert);
  placements_.push_back(placement);
  items_.push_back({residency_.IdOf(placement.expert), residency_.slots().data(placement.slot)});
  bytes_ += residency_.geometry().BlobBytes(placement.expert);
}

void SlotCopies::Start(const DeviceEvents& after, SlotVerify verify) {
  mover_.StartCopies({.items = items_, .after = after, .verify = verify});
}

absl::StatusOr<SlotCopies::Outcome> SlotCopies::Advance(ExpertTable::Wait wait) {
  CHECK(!empty());
  if (!copied_) {
    if (mover_.running()) return Outcome::kUnderWay;
    work_ = mover_.Take();
    if (!work_.status.ok()) {
      for (const Residency::Placement& placement : placements_) {
        residency_.slots().EndCopy(placement.slot, false);
        residency_.SetIdle(placement.expert);
      }
      return Outcome::kFailed;
    }
    copied_ = true;
  }
  ASSIGN_OR_RETURN(const bool shown, residency_.Arrive(placements_, wait));
  return shown ? Outcome::kShown : Outcome::kUnderWay;
}

void SlotCopies::Clear() {
  placements_.clear();
  items_.clear();
  bytes_ = 0;
  copied_ = false;
  work_ = ExpertMover::Outcome();
}

}  // namespace strata
