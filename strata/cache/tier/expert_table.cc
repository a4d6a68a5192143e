#include "strata/cache/tier/expert_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

constexpr int64_t kEntryBytes = sizeof(ExpertEntry);

// Copies of one call: half of what a stream takes without blocking its caller.
constexpr size_t kMaxCopies = Device::kMaxQueuedCopies / 2;

}  // namespace

absl::string_view NameOf(EntryForm form) {
  constexpr absl::string_view kNames[kNumEntryForms] = {"slot", "registered", "arena", "pageable",
                                                        "stage"};
  return kNames[static_cast<int>(form)];
}

ExpertTable::ExpertTable(int num_experts) : entries_(num_experts), num_staged_(num_experts) {
  changes_.reserve(num_experts);
}

absl::StatusOr<std::unique_ptr<ExpertTable>> ExpertTable::CreateWithImage(
    int num_experts, Device& device, const DeviceStream& stream, StagePool& patches) {
  CHECK_GE(patches.stage_bytes(), kEntryBytes);
  auto table = std::make_unique<ExpertTable>(num_experts);
  table->device_ = &device;
  table->stream_ = &stream;
  table->patches_ = &patches;
  ASSIGN_OR_RETURN(table->image_, device.Allocate(std::max<int64_t>(1, num_experts) * kEntryBytes));
  table->unsure_.reserve(num_experts);
  table->leases_.reserve(patches.num_stages());
  table->in_limbo_.reserve(patches.num_stages());
  table->copies_.reserve(kMaxCopies);
  RETURN_IF_ERROR(table->WriteImage());
  return table;
}

absl::StatusOr<std::unique_ptr<ExpertTable>> ExpertTable::CreateForSteps(
    int num_experts, Device& device, const DeviceStream& stream) {
  auto table = std::make_unique<ExpertTable>(num_experts);
  table->device_ = &device;
  table->stream_ = &stream;
  table->patched_by_steps_ = true;
  ASSIGN_OR_RETURN(table->image_, device.Allocate(std::max<int64_t>(1, num_experts) * kEntryBytes));
  table->changed_.reserve(num_experts);
  table->is_changed_.resize(num_experts, false);
  table->patch_.reserve(num_experts);
  RETURN_IF_ERROR(table->WriteImage());
  return table;
}

ExpertTable::~ExpertTable() {
  if (device_ == nullptr) return;
  // The image is written until then.
  device_->Drain(last_patch_);
  if (!in_limbo_.empty()) device_->Drain(*stream_);
}

int ExpertTable::EntriesOfStage() const {
  return static_cast<int>(std::min<int64_t>(patches_->stage_bytes() / kEntryBytes, kMaxCopies));
}

int ExpertTable::max_changes() const {
  if (patches_ == nullptr) return size();
  // Half of the buffers: the other half may still be on its way.
  const int64_t most = int64_t{EntriesOfStage()} * std::max(1, patches_->num_stages() / 2);
  return static_cast<int>(std::min<int64_t>(most, size()));
}

absl::StatusOr<bool> ExpertTable::Begin(int num_changes, Wait wait) {
  CHECK_LE(num_changes, max_changes());
  CHECK(leases_.empty()) << "a change has begun already";
  if (patches_ != nullptr) {
    if (!in_limbo_.empty()) RETURN_IF_ERROR(Release());
    ASSIGN_OR_RETURN(const bool healed, Heal(wait));
    if (!healed) return false;
    ASSIGN_OR_RETURN(const bool leased, Lease(num_changes, wait));
    if (!leased) return false;
  }
  changes_.clear();
  return true;
}

absl::StatusOr<bool> ExpertTable::Lease(int num_changes, Wait wait) {
  for (; num_changes > 0; num_changes -= EntriesOfStage()) {
    std::optional<StagePool::Stage> stage;
    if (wait == Wait::kNever) {
      stage = patches_->TryAcquire();
    } else {
      absl::StatusOr<StagePool::Stage> acquired = patches_->Acquire();
      if (!acquired.ok()) {
        leases_.clear();
        return acquired.status();
      }
      stage = *std::move(acquired);
    }
    if (!stage.has_value()) {
      leases_.clear();
      return false;
    }
    leases_.push_back(*std::move(stage));
  }
  return true;
}

absl::StatusOr<bool> ExpertTable::Heal(Wait wait) {
  while (!unsure_.empty()) {
    const int num_entries = std::min(max_changes(), static_cast<int>(unsure_.size()));
    ASSIGN_OR_RETURN(const bool leased, Lease(num_entries, wait));
    if (!leased) return false;
    changes_.clear();
    const auto first = unsure_.end() - num_entries;
    for (auto number = first; number != unsure_.end(); ++number) {
      changes_.push_back({*number, entries_[*number]});
    }
    RETURN_IF_ERROR(Queue());
    unsure_.erase(first, unsure_.end());
  }
  return true;
}

void ExpertTable::Set(int number, const ExpertEntry& entry) {
  changes_.push_back({number, entry});
  changes_.back().entry.generation = entries_[number].generation + 1;
  changes_.back().entry.landing = entries_[number].landing;
}

absl::Status ExpertTable::Commit() {
  if (patches_ != nullptr) {
    if (absl::Status queued = Queue(); !queued.ok()) {
      for (const Change& change : changes_) unsure_.push_back(change.number);
      return queued;
    }
  }
  for (const Change& change : changes_) {
    num_staged_ += (change.entry.form == EntryForm::kStage) -
                   (entries_[change.number].form == EntryForm::kStage);
    entries_[change.number] = change.entry;
    if (patched_by_steps_) NoteChanged(change.number);
  }
  return absl::OkStatus();
}

void ExpertTable::NoteChanged(int number) {
  if (is_changed_[number]) return;
  is_changed_[number] = true;
  changed_.push_back(number);
}

void ExpertTable::Mark(int number, uint8_t landing) {
  CHECK(patched_by_steps_);
  entries_[number].landing = landing;
  NoteChanged(number);
}

void ExpertTable::BeginPatch() {
  std::sort(changed_.begin(), changed_.end());
  patch_.clear();
  for (const int number : changed_) {
    patch_.push_back({.number = number, .entry = entries_[number]});
    is_changed_[number] = false;
  }
  changed_.clear();
}

void ExpertTable::PatchLost() {
  for (const TablePatch& lost : patch_) NoteChanged(lost.number);
  patch_.clear();
}

absl::Status ExpertTable::Queue() {
  std::sort(changes_.begin(), changes_.end(),
            [](const Change& a, const Change& b) { return a.number < b.number; });
  absl::Status outcome;
  absl::Span<const Change> rest = changes_;
  while (!rest.empty()) {
    CHECK(!leases_.empty()) << "more changes than were begun";
    const absl::Span<const Change> now = rest.subspan(0, EntriesOfStage());
    rest.remove_prefix(now.size());
    in_limbo_.push_back(std::move(leases_.back()));
    leases_.pop_back();
    in_limbo_.back().MarkReady();
    if (absl::Status queued = QueuePatch(now, in_limbo_.back()); !queued.ok()) {
      device_->ClearError();
      outcome = std::move(queued);
      break;
    }
  }
  leases_.clear();
  absl::Status released = Release();
  return outcome.ok() ? released : outcome;
}

absl::Status ExpertTable::QueuePatch(absl::Span<const Change> changes,
                                     const StagePool::Stage& stage) {
  copies_.clear();
  std::byte* source = stage.data();
  int next_number = -1;
  for (const Change& change : changes) {
    std::memcpy(source, &change.entry, kEntryBytes);
    if (change.number == next_number) {
      copies_.back().bytes += kEntryBytes;
    } else {
      copies_.push_back({image_.data() + change.number * kEntryBytes, source, kEntryBytes});
    }
    source += kEntryBytes;
    next_number = change.number + 1;
  }
  if (stage.pinned() && copies_.size() > 1) return device_->CopyBatchToDevice(copies_, *stream_);
  for (const HostToDeviceCopy& copy : copies_) {
    RETURN_IF_ERROR(device_->CopyToDevice(copy.destination,
                                          absl::MakeConstSpan(copy.source, copy.bytes), *stream_));
  }
  return absl::OkStatus();
}

absl::Status ExpertTable::Release() {
  if (in_limbo_.empty()) return absl::OkStatus();
  absl::StatusOr<DeviceEvent> event = device_->Record(*stream_);
  if (!event.ok()) {
    device_->ClearError();
    return event.status();
  }
  for (StagePool::Stage& stage : in_limbo_) stage.ReleaseAfter(*event);
  last_patch_ = *std::move(event);
  in_limbo_.clear();
  return absl::OkStatus();
}

absl::Status ExpertTable::CopyWholeImage() {
  const auto bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(entries_.data()),
                                         entries_.size() * kEntryBytes);
  absl::Status copied = device_->CopyToDevice(image_.data(), bytes, *stream_);
  if (copied.ok()) {
    const absl::StatusOr<DeviceEvent> event = device_->Record(*stream_);
    copied = event.ok() ? device_->Wait(*event) : event.status();
  }
  if (!copied.ok()) {
    // It may still read the entries.
    device_->Drain(*stream_);
    device_->ClearError();
    return copied;
  }
  for (const int number : changed_) is_changed_[number] = false;
  changed_.clear();
  patch_.clear();
  return absl::OkStatus();
}

absl::Status ExpertTable::WriteImage() {
  if (patched_by_steps_) return CopyWholeImage();
  if (patches_ == nullptr) return absl::OkStatus();
  unsure_.resize(size());
  std::iota(unsure_.begin(), unsure_.end(), 0);
  return Begin(0, Wait::kForBuffers).status();
}

}  // namespace strata
