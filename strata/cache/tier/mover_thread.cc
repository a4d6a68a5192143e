#include "strata/cache/tier/mover_thread.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/refusal.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

namespace strata {
namespace {

constexpr size_t kSampleOneIn = 16;

}  // namespace

MoverThread::MoverThread(CacheFiller& filler, SlotChecker& checker, PinnedArena* arena)
    : filler_(filler), checker_(checker), arena_(arena), worker_(1, [this](int) { Work(); }) {}

MoverThread::~MoverThread() { worker_.Wait(); }

void MoverThread::StartAliases(absl::Span<const ExpertId> experts, absl::Span<bool> is_there) {
  CHECK_EQ(experts.size(), is_there.size());
  aliases_ = experts;
  is_there_ = is_there;
  Start();
}

void MoverThread::StartCopies(const Copies& copies) {
  copies_ = copies;
  Start();
}

void MoverThread::StartChecks(absl::Span<const FillItem> slots) {
  checks_ = slots;
  Start();
}

void MoverThread::Start() {
  CHECK(!std::exchange(busy_, true)) << "the mover is at work";
  worker_.Start();
}

void MoverThread::Wait() {
  if (running()) ++num_waits_;
  worker_.Wait();
}

ExpertMover::Outcome MoverThread::Take() {
  CHECK(busy_);
  Wait();
  busy_ = false;
  aliases_ = {};
  is_there_ = {};
  copies_ = {};
  checks_ = {};
  return std::exchange(outcome_, Outcome());
}

void MoverThread::Work() {
  const Stopwatch stopwatch;
  outcome_.status = CatchRefusal([this] { return WorkOnce(); });
  // Nobody waits for the events on behalf of this work any more.
  copies_.after.Clear();
  outcome_.work_ns = stopwatch.ns();
}

absl::Status MoverThread::WorkOnce() {
  if (!copies_.items.empty()) return Copy();
  if (checks_.empty()) return InsertAliases();
  RETURN_IF_ERROR(checker_.Check(checks_));
  outcome_.num_verified = static_cast<int>(checks_.size());
  return absl::OkStatus();
}

absl::Status MoverThread::InsertAliases() {
  std::fill(is_there_.begin(), is_there_.end(), false);
  for (size_t i = 0; i < aliases_.size(); ++i) {
    is_there_[i] = arena_ != nullptr && arena_->Insert(aliases_[i]).ok();
  }
  return absl::OkStatus();
}

absl::Status MoverThread::Copy() {
  CacheFiller::Job job = {.items = copies_.items, .after = copies_.after};
  if (copies_.verify == SlotVerify::kAll) {
    checksums_.resize(copies_.items.size());
    job.checksums = absl::MakeSpan(checksums_);
  }
  RETURN_IF_ERROR(filler_.Fill(job));
  return copies_.verify == SlotVerify::kNone ? absl::OkStatus() : Verify();
}

absl::Status MoverThread::Verify() {
  if (copies_.verify == SlotVerify::kAll) {
    RETURN_IF_ERROR(checker_.Check(copies_.items, checksums_));
    outcome_.num_verified = static_cast<int>(copies_.items.size());
    return absl::OkStatus();
  }
  sample_.clear();
  for (size_t i = 0; i < copies_.items.size(); i += kSampleOneIn) {
    sample_.push_back(copies_.items[i]);
    if (copies_.verify == SlotVerify::kFirst) break;
  }
  RETURN_IF_ERROR(checker_.Check(sample_));
  outcome_.num_verified = static_cast<int>(sample_.size());
  return absl::OkStatus();
}

}  // namespace strata
