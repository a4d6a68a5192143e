#include "strata/cache/tier/swap_round.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/arena_tenants.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/slot_copies.h"
#include "strata/core/status_macros.h"

namespace strata {

using Swap = SwapPolicy::Swap;

SwapRound::SwapRound(const Collaborators& collaborators, int max_swaps)
    : parts_(collaborators),
      got_alias_(std::make_unique<bool[]>(max_swaps)),
      copies_(collaborators.residency, collaborators.mover, max_swaps) {
  swaps_.reserve(max_swaps);
  victims_.reserve(max_swaps);
  without_alias_.reserve(max_swaps);
}

void SwapRound::Start(absl::Span<const Swap> swaps, const SwapRates& rates, const StepGap& gap) {
  CHECK(idle());
  if (swaps.empty()) return;
  rates_ = rates;
  swaps_.assign(swaps.begin(), swaps.end());
  for (const Swap& swap : swaps_) {
    parts_.residency.SetBusy(swap.newcomer);
    if (swap.victim >= 0) parts_.residency.SetBusy(swap.victim);
    parts_.journal.OnSwapDecided(gap.next_step, swap);
  }
  FindVictimsWithoutAlias();
  phase_ = without_alias_.empty() ? Phase::kReady : Phase::kGettingAliases;
  if (phase_ == Phase::kGettingAliases) {
    parts_.mover.StartAliases(without_alias_, {got_alias_.get(), without_alias_.size()});
  }
}

void SwapRound::FindVictimsWithoutAlias() {
  without_alias_.clear();
  int num_surplus = parts_.tenants.num_surplus_places();
  for (const Swap& swap : swaps_) {
    if (swap.victim < 0 || !parts_.tenants.HasNoAlias(swap.victim)) continue;
    if (!parts_.tenants.LeavesPlace(swap.newcomer) && num_surplus-- <= 0) continue;
    without_alias_.push_back(parts_.residency.IdOf(swap.victim));
  }
}

absl::Status SwapRound::Advance(const StepGap& gap) {
  if (phase_ == Phase::kGettingAliases) {
    if (parts_.mover.running()) return absl::OkStatus();
    TakeAliases(gap);
  }
  if (phase_ == Phase::kReady) return MoveVictimsOut(gap);
  if (phase_ == Phase::kCopying) return AdvanceCopies(gap);
  return absl::OkStatus();
}

// Swaps whose victims had to get a place and got none are dropped.
void SwapRound::TakeAliases(const StepGap& gap) {
  mover_ns_ += parts_.mover.Take().work_ns;  // Inserting tells its outcome by expert.
  size_t next = 0, num_kept = 0;
  for (const Swap& swap : swaps_) {
    const bool was_asked_for = next < without_alias_.size() && swap.victim >= 0 &&
                               parts_.residency.IdOf(swap.victim) == without_alias_[next];
    const bool got_none = was_asked_for && !got_alias_[next++];
    if (got_none && parts_.tenants.LeavesPlace(swap.newcomer)) {
      Drop(swap, gap);
    } else {
      swaps_[num_kept++] = swap;
    }
  }
  swaps_.resize(num_kept);
  phase_ = Phase::kReady;
  if (swaps_.empty()) End();
}

absl::Status SwapRound::MoveVictimsOut(const StepGap& gap) {
  SlotCache& slots = parts_.residency.slots();
  victims_.clear();
  for (const Swap& swap : swaps_) {
    if (swap.victim >= 0) victims_.push_back({swap.victim, slots.SlotOf(swap.victim)});
  }
  if (!victims_.empty()) {
    ASSIGN_OR_RETURN(const bool left, parts_.residency.Leave(victims_, gap.wait));
    if (!left) {
      parts_.journal.OnPostponed(gap.next_step);
      return absl::OkStatus();
    }
    for (const auto [expert, slot] : victims_) {
      parts_.journal.OnLeft(gap.next_step, expert, slot, TierObserver::LeftFor::kSwap);
    }
  }
  StartCopies(gap);
  return absl::OkStatus();
}

void SwapRound::StartCopies(const StepGap& gap) {
  SlotCache& slots = parts_.residency.slots();
  size_t next_victim = 0;
  for (const Swap& swap : swaps_) {
    const int slot = swap.victim >= 0
                         ? victims_[next_victim++].slot
                         : slots.FindEmpty(SizeClassOf(slots.plan().class_bytes(), swap.bytes));
    CHECK_NE(slot, SlotCache::kNone) << "the empty slot of a swap was given away";
    copies_.Add({swap.newcomer, slot});
  }
  // Empty slots were emptied before steps that these events stand for, too.
  copies_.Start(gap.in_use, SlotVerify::kNone);
  phase_ = Phase::kCopying;
}

absl::Status SwapRound::AdvanceCopies(const StepGap& gap) {
  ASSIGN_OR_RETURN(const SlotCopies::Outcome outcome, copies_.Advance(gap.wait));
  if (outcome == SlotCopies::Outcome::kUnderWay) {
    if (!parts_.mover.busy()) parts_.journal.OnPostponed(gap.next_step);
    return absl::OkStatus();
  }
  mover_ns_ += copies_.work().work_ns;
  if (outcome == SlotCopies::Outcome::kShown) {
    Show(gap);
  } else {
    for (const Swap& swap : swaps_) parts_.journal.OnSwapFailed(gap.next_step, swap);
    if (!std::exchange(said_failure_, true)) {
      LOG(WARNING) << "experts stay in host memory: " << copies_.work().status.message();
    }
  }
  End();
  return absl::OkStatus();
}

void SwapRound::Show(const StepGap& gap) {
  for (size_t i = 0; i < swaps_.size(); ++i) {
    const auto [newcomer, slot] = copies_.placements()[i];
    parts_.tenants.NoteInSlot(newcomer);
    parts_.journal.OnSwapVisible(gap.next_step, swaps_[i], rates_, slot);
  }
}

void SwapRound::DropUnstarted(const StepGap& gap) {
  if (phase_ == Phase::kGettingAliases) TakeAliases(gap);
  if (phase_ != Phase::kReady) return;
  for (const Swap& swap : swaps_) Drop(swap, gap);
  End();
}

void SwapRound::Drop(const Swap& swap, const StepGap& gap) {
  parts_.journal.OnSwapDropped(gap.next_step, swap);
  parts_.residency.SetIdle(swap.newcomer);
  if (swap.victim < 0) return;
  parts_.residency.SetIdle(swap.victim);
  parts_.tenants.NoteInSlot(swap.victim);  // It may have got a place meanwhile.
}

void SwapRound::End() {
  swaps_.clear();
  copies_.Clear();
  phase_ = Phase::kIdle;
}

}  // namespace strata
