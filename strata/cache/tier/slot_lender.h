// Lends the tail slots of a cache, and sees to it that what had to leave comes back.
//
// The experts in them go to their aliases first. When the loan has ended, no loan's memory is used
// any more, and the first token is out, they are queued to come back, hottest first. Until then
// they are misses like others. A loan may follow before they are all back, with or without a first
// token in between.
//
// Used by the decode thread alone, between steps. Collaborators outlive it; it outlives the loan.
#ifndef STRATA_CACHE_TIER_SLOT_LENDER_H_
#define STRATA_CACHE_TIER_SLOT_LENDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/fill_queue.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/slot_loan.h"
#include "strata/cache/tier/slot_uses.h"
#include "strata/cache/tier/step_gap.h"
#include "strata/cache/tier/tier_observer.h"
#include "strata/core/device_events.h"
#include "strata/core/stopwatch.h"

namespace strata {

class SlotLender {
 public:
  struct Collaborators {
    Residency& residency;
    SlotUses& uses;
    FillQueue& fill;
    TierObserver& journal;
  };

  explicit SlotLender(const Collaborators& collaborators);
  ~SlotLender();

  // The fewest tail slots that hold so many bytes; kResourceExhausted when all do not.
  absl::StatusOr<int> SlotsFor(int64_t bytes) const;
  // The last slots, at most all. No copy is under way and no loan is out. After an error of the
  // device nothing is lent.
  absl::StatusOr<SlotLoan> Lend(int num_slots, const StepGap& gap);
  void FirstTokenOut(const SwapPolicy& policy);

  // Whether a loan is out, or the memory of one may still be in use.
  bool has_memory() const { return out() || parts_.uses.by_loans(); }
  bool out() const { return num_out_ > 0; }
  // Ends the clock of a refill that is done.
  void Advance();

 private:
  // Entries of the experts in these slots and all after them go to their aliases.
  absl::Status MoveOut(int first_slot, const StepGap& gap);
  absl::Status MoveOutGroup(const StepGap& gap);
  void TakeBack(const DeviceEvents& last_uses);
  void StopRefillClock();

  const Collaborators parts_;
  int num_out_ = 0;  // The last slots.
  bool first_token_is_out_ = true;
  std::optional<Stopwatch> refill_;  // While what left for a loan comes back.
  std::vector<Residency::Placement> leaving_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SLOT_LENDER_H_
