#include "strata/cache/tier/expert_mover.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/device_event.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

constexpr size_t kSampleOneIn = 16;

}  // namespace

ExpertMover::ExpertMover(CacheFiller& filler, SlotChecker& checker, PinnedArena* arena)
    : filler_(filler), checker_(checker), arena_(arena), worker_(1, [this](int) { Work(); }) {}

ExpertMover::~ExpertMover() { worker_.Wait(); }

void ExpertMover::StartAliases(absl::Span<const ExpertId> experts, absl::Span<bool> is_there) {
  CHECK(!busy_) << "the mover is at work";
  CHECK_EQ(experts.size(), is_there.size());
  busy_ = true;
  aliases_ = experts;
  is_there_ = is_there;
  worker_.Start();
}

void ExpertMover::StartCopies(Copies copies) {
  CHECK(!busy_) << "the mover is at work";
  busy_ = true;
  copies_ = std::move(copies);
  worker_.Start();
}

void ExpertMover::Wait() {
  if (running()) ++num_waits_;
  worker_.Wait();
}

absl::Status ExpertMover::Take() {
  CHECK(busy_);
  Wait();
  busy_ = false;
  aliases_ = {};
  copies_ = {};
  return std::exchange(outcome_, absl::OkStatus());
}

void ExpertMover::Work() {
  num_verified_ = 0;
  for (size_t i = 0; i < aliases_.size(); ++i) {
    is_there_[i] = arena_ != nullptr && arena_->Insert(aliases_[i]).ok();
  }
  if (!copies_.items.empty()) outcome_ = Copy();
  // Nobody waits for the event on behalf of this work any more.
  copies_.after = DeviceEvent();
}

absl::Status ExpertMover::Copy() {
  CacheFiller::Job job = {.items = copies_.items, .after = copies_.after};
  job.progress = copies_.progress;
  if (copies_.verify == SlotVerify::kAll) {
    checksums_.resize(copies_.items.size());
    job.checksums = absl::MakeSpan(checksums_);
  }
  RETURN_IF_ERROR(filler_.Fill(job));
  return copies_.verify == SlotVerify::kNone ? absl::OkStatus() : Verify();
}

absl::Status ExpertMover::Verify() {
  if (copies_.verify == SlotVerify::kAll) {
    RETURN_IF_ERROR(checker_.Check(copies_.items, checksums_));
    num_verified_ = static_cast<int>(copies_.items.size());
    return absl::OkStatus();
  }
  std::vector<FillItem> chosen;
  for (size_t i = 0; i < copies_.items.size(); i += kSampleOneIn) {
    chosen.push_back(copies_.items[i]);
    if (copies_.verify == SlotVerify::kFirst) break;
  }
  RETURN_IF_ERROR(checker_.Check(chosen));
  num_verified_ = static_cast<int>(chosen.size());
  return absl::OkStatus();
}

}  // namespace strata
