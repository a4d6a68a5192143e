#include "strata/cache/tier/slot_lender.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/slot_loan.h"
#include "strata/core/device_events.h"
#include "strata/core/status_macros.h"

namespace strata {

SlotLender::SlotLender(const Collaborators& collaborators) : parts_(collaborators) {
  leaving_.reserve(parts_.residency.table().max_changes());
}

SlotLender::~SlotLender() { CHECK(!out()) << "a loan outlives the tier that it is of"; }

absl::StatusOr<int> SlotLender::SlotsFor(int64_t bytes) const {
  const SlotPlan& plan = parts_.residency.slots().plan();
  if (bytes > plan.bytes()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a loan of ", bytes, " bytes from an expert cache of ", plan.Describe()));
  }
  int64_t lent_bytes = 0;
  int num_slots = 0;
  while (lent_bytes < bytes) lent_bytes += plan.SlotBytes(plan.num_slots() - ++num_slots);
  return num_slots;
}

absl::StatusOr<SlotLoan> SlotLender::Lend(int num_slots, const StepGap& gap) {
  CHECK(!out());
  SlotCache& slots = parts_.residency.slots();
  num_slots = std::clamp(num_slots, 0, slots.num_slots());
  if (num_slots == 0) return SlotLoan();
  StopRefillClock();
  parts_.fill.Pause();
  const int first = slots.num_slots() - num_slots;
  const absl::Status moved = MoveOut(first, gap);
  for (int slot = first; slot < slots.num_slots(); ++slot) {
    if (moved.ok() || slots.state(slot) == SlotState::kDraining) slots.Lend(slot);
  }
  if (!moved.ok()) {
    for (int slot = first; slot < slots.num_slots(); ++slot) {
      if (slots.state(slot) == SlotState::kLent) slots.TakeBack(slot);
    }
    if (first_token_is_out_) parts_.fill.Resume();
    return moved;
  }
  first_token_is_out_ = false;
  num_out_ = num_slots;
  parts_.journal.OnLent(gap.next_step, num_slots);
  const int64_t offset = slots.plan().OffsetOf(first);
  return SlotLoan({slots.data(first), static_cast<size_t>(slots.plan().bytes() - offset)},
                  num_slots, gap.in_use,
                  [this](const DeviceEvents& last_uses) { TakeBack(last_uses); });
}

absl::Status SlotLender::MoveOut(int first_slot, const StepGap& gap) {
  const SlotCache& slots = parts_.residency.slots();
  const size_t group = parts_.residency.table().max_changes();
  leaving_.clear();
  for (int slot = first_slot; slot < slots.num_slots(); ++slot) {
    if (slots.state(slot) == SlotState::kResident) leaving_.push_back({slots.expert(slot), slot});
    if (leaving_.size() == group) RETURN_IF_ERROR(MoveOutGroup(gap));
  }
  return leaving_.empty() ? absl::OkStatus() : MoveOutGroup(gap);
}

absl::Status SlotLender::MoveOutGroup(const StepGap& gap) {
  ASSIGN_OR_RETURN(const bool left, parts_.residency.Leave(leaving_, gap.wait));
  if (!left) return absl::UnavailableError("no buffers to change the expert table from");
  for (const auto [expert, slot] : leaving_) {
    parts_.fill.AddReturning(expert);
    parts_.journal.OnLeft(gap.next_step, expert, slot, TierObserver::LeftFor::kLoan);
  }
  leaving_.clear();
  return absl::OkStatus();
}

void SlotLender::TakeBack(const DeviceEvents& last_uses) {
  SlotCache& slots = parts_.residency.slots();
  for (int i = 1; i <= num_out_; ++i) slots.TakeBack(slots.num_slots() - i);
  num_out_ = 0;
  parts_.uses.AddLoan(last_uses);
  if (first_token_is_out_) parts_.fill.Resume();
}

void SlotLender::FirstTokenOut(const SwapPolicy& policy) {
  if (std::exchange(first_token_is_out_, true)) return;
  parts_.fill.Sort(policy);
  if (!parts_.fill.done()) refill_.emplace();
  if (!out()) parts_.fill.Resume();
}

void SlotLender::Advance() {
  if (refill_.has_value() && parts_.fill.done()) StopRefillClock();
}

void SlotLender::StopRefillClock() {
  if (!refill_.has_value()) return;
  parts_.journal.OnRefilled(refill_->ns());
  refill_.reset();
}

}  // namespace strata
