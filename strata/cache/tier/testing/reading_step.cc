#include "strata/cache/tier/testing/reading_step.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Of the room for all experts: a few times as long as reading them takes.
constexpr int kNumBusyCopies = 4;

absl::Span<std::byte> BytesOf(const PinnedMemory& memory) {
  return absl::MakeSpan(memory.data(), memory.size());
}

}  // namespace

ReadingStep::ReadingStep(Device& device, const DeviceStream& stream, const TestExperts& experts,
                         const ExpertGeometry& geometry, const ExpertTable& table, int max_experts)
    : device_(device),
      stream_(stream),
      experts_(experts),
      geometry_(geometry),
      table_(table),
      blob_bytes_(experts.files().max_blob_bytes()),
      staged_(device.Allocate(max_experts * blob_bytes_).value()),
      blobs_(device.AllocatePinned(max_experts * blob_bytes_).value()),
      image_(device.AllocatePinned(table.size() * sizeof(ExpertEntry)).value()) {
  std::memset(blobs_.data(), 0, blobs_.size());
  const absl::Status cleared = device_.CopyToDevice(staged_.data(), BytesOf(blobs_), stream_);
  CHECK(cleared.ok()) << cleared;
}

ReadingStep::~ReadingStep() { device_.Drain(stream_); }

absl::StatusOr<DeviceEvent> ReadingStep::Launch(absl::Span<const int> numbers) {
  CHECK(event_.empty()) << "the step before has not been finished";
  CHECK_LE(static_cast<int64_t>(numbers.size()) * blob_bytes_, blobs_.size());
  numbers_.assign(numbers.begin(), numbers.end());
  entries_.clear();
  for (int number = 0; number < table_.size(); ++number) entries_.push_back(table_.entry(number));
  for (int i = 0; i < kNumBusyCopies; ++i) {
    RETURN_IF_ERROR(device_.CopyToHost(BytesOf(blobs_), staged_.data(), stream_));
  }
  RETURN_IF_ERROR(device_.CopyToHost(BytesOf(image_), table_.image(), stream_));
  int64_t offset = 0;
  for (const int number : numbers_) {
    RETURN_IF_ERROR(QueueRead(number, offset));
    offset += blob_bytes_;
  }
  ASSIGN_OR_RETURN(event_, device_.Record(stream_));
  return event_;
}

absl::Status ReadingStep::QueueRead(int number, int64_t offset) {
  const ExpertEntry& entry = entries_[number];
  if (entry.form == EntryForm::kStage) return absl::OkStatus();
  const ExpertSlices& slices = experts_.files().Slices(geometry_.IdOf(number));
  const BlobLayout layout = slices.layout();
  for (int i = 0; i < layout.num_parts(); ++i) {
    std::byte* const read = blobs_.data() + offset + layout.offset(i);
    const auto bytes = static_cast<size_t>(slices[i].bytes);
    const std::byte* in_device_memory = entry.parts[i];
    if (entry.form != EntryForm::kSlot) {
      std::byte* const staged = staged_.data() + offset + layout.offset(i);
      RETURN_IF_ERROR(device_.CopyToDevice(staged, {entry.parts[i], bytes}, stream_));
      in_device_memory = staged;
    }
    RETURN_IF_ERROR(device_.CopyToHost({read, bytes}, in_device_memory, stream_));
  }
  return absl::OkStatus();
}

absl::Status ReadingStep::Finish() {
  if (event_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(device_.Wait(std::exchange(event_, DeviceEvent())));
  CompareImage();
  const std::byte* blob = blobs_.data();
  for (const int number : numbers_) {
    CompareExpert(number, blob);
    blob += blob_bytes_;
  }
  return absl::OkStatus();
}

void ReadingStep::CompareImage() {
  for (size_t number = 0; number < entries_.size(); ++number) {
    ExpertEntry entry;
    std::memcpy(&entry, image_.data() + number * sizeof(entry), sizeof(entry));
    counts_.wrong_entries += !(entry == entries_[number]);
  }
}

void ReadingStep::CompareExpert(int number, const std::byte* blob) {
  const EntryForm form = entries_[number].form;
  if (form == EntryForm::kStage) {
    ++counts_.staged;
    return;
  }
  ++(form == EntryForm::kSlot ? counts_.from_slots : counts_.from_host);
  counts_.wrong_experts += !experts_.IsBlobOf(geometry_.IdOf(number), blob);
}

}  // namespace strata
