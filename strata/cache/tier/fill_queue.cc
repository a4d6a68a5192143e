#include "strata/cache/tier/fill_queue.h"

#include <algorithm>
#include <cstdint>
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
#include "strata/core/status_copy.h"
#include "strata/core/status_macros.h"

namespace strata {

FillQueue::FillQueue(const Collaborators& collaborators, int max_chunk)
    : parts_(collaborators),
      max_chunk_(max_chunk),
      returning_(collaborators.residency.geometry().size(), false),
      copies_(collaborators.residency, collaborators.mover, max_chunk) {
  queue_.reserve(collaborators.residency.geometry().size());
}

void FillQueue::Fill(absl::Span<const int> hottest_first, SlotVerify verify) {
  std::vector<int> coming_back;
  std::vector<bool> is_queued(returning_.size(), false);
  for (const int expert : hottest_first) is_queued[expert] = true;
  for (; next_ < queue_.size(); ++next_) {
    const int expert = queue_[next_];
    if (returning_[expert] && !is_queued[expert]) coming_back.push_back(expert);
  }
  queue_.assign(hottest_first.begin(), hottest_first.end());
  queue_.insert(queue_.end(), coming_back.begin(), coming_back.end());
  next_ = 0;
  verify_ = verify;
  report_ = FillReport();
}

void FillQueue::AddReturning(int expert) {
  // What has been started makes room.
  queue_.erase(queue_.begin(), queue_.begin() + next_);
  next_ = 0;
  if (returning_[expert]) return;
  returning_[expert] = true;
  queue_.push_back(expert);
}

void FillQueue::Sort(const SwapPolicy& policy) {
  std::sort(queue_.begin() + next_, queue_.end(),
            [&](int a, int b) { return policy.IsHotter(a, b); });
}

void FillQueue::StartNext(int chunk, const StepGap& gap) {
  if (paused_ || under_way() || parts_.mover.busy()) return;
  SlotCache& slots = parts_.residency.slots();
  const absl::Span<const int64_t> class_bytes = slots.plan().class_bytes();
  int num_added = 0;
  for (; next_ < queue_.size() && num_added < std::min(chunk, max_chunk_); ++next_) {
    const int expert = queue_[next_];
    const int64_t bytes = parts_.residency.geometry().BlobBytes(expert);
    const int slot = slots.FindEmpty(SizeClassOf(class_bytes, bytes));
    if (slot == SlotCache::kNone || slots.SlotOf(expert) != SlotCache::kNone) {
      returning_[expert] = false;
      continue;
    }
    copies_.Add({expert, slot});
    ++num_added;
  }
  if (num_added == 0) return;
  copies_.Start(gap.in_use, verify_);
  // One slot is proof enough of the first.
  if (verify_ == SlotVerify::kFirst) verify_ = SlotVerify::kNone;
}

absl::Status FillQueue::Advance(const StepGap& gap) {
  if (!under_way()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const SlotCopies::Outcome outcome, copies_.Advance(gap.wait));
  if (outcome == SlotCopies::Outcome::kUnderWay) {
    if (!parts_.mover.busy()) parts_.journal.OnPostponed(gap.next_step);
    return absl::OkStatus();
  }
  report_.seconds += static_cast<double>(copies_.work().work_ns) / 1e9;
  if (outcome == SlotCopies::Outcome::kShown) {
    Show(gap);
  } else {
    for (const Residency::Placement& each : copies_.placements()) {
      returning_[each.expert] = false;
      parts_.journal.OnFillFailed(gap.next_step, each.expert);
    }
    if (report_.status.ok()) report_.status = DeepCopy(copies_.work().status);
  }
  copies_.Clear();
  return absl::OkStatus();
}

void FillQueue::Show(const StepGap& gap) {
  using CameBy = TierObserver::CameBy;
  for (const auto [expert, slot] : copies_.placements()) {
    parts_.tenants.NoteInSlot(expert);
    parts_.journal.OnCameBack(gap.next_step, expert, slot,
                              returning_[expert] ? CameBy::kRefill : CameBy::kFill);
    returning_[expert] = false;
  }
  const bool has_slot0 = copies_.placements()[0].slot == 0;
  if (has_slot0 && copies_.work().num_verified > 0) report_.slot0_verified = true;
  report_.num_experts += static_cast<int64_t>(copies_.placements().size());
  report_.num_bytes += copies_.bytes();
  report_.num_verified += copies_.work().num_verified;
}

FillProgress FillQueue::progress() const {
  FillProgress progress = {.num_done = report_.num_experts,
                           .num_items = report_.num_experts,
                           .bytes_done = report_.num_bytes,
                           .num_bytes = report_.num_bytes};
  for (size_t i = next_; i < queue_.size(); ++i) {
    ++progress.num_items;
    progress.num_bytes += parts_.residency.geometry().BlobBytes(queue_[i]);
  }
  return progress;
}

}  // namespace strata
