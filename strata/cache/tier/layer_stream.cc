#include "strata/cache/tier/layer_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/host/expert_source.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// A profile's hottest experts are not spread evenly over the layers.
constexpr int64_t kPercentForUneven = 110;

std::byte* AlignUp(std::byte* address) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  const uintptr_t rest = value % BlobLayout::kAlignment;
  return rest == 0 ? address : address + (BlobLayout::kAlignment - rest);
}

// What a copy reads at its own time, and at the speed of the link.
bool IsPinned(EntryForm form) {
  return form == EntryForm::kRegistered || form == EntryForm::kArena;
}

}  // namespace

int64_t LayerStream::BufferBytes(const ExpertGeometry& geometry, int64_t slot_bytes,
                                 int64_t spare_bytes) {
  const int64_t all = geometry.total_blob_bytes();
  if (slot_bytes >= all) return 0;
  const int64_t missing = (all - slot_bytes) * kPercentForUneven * geometry.num_experts();
  const int64_t num_missing =
      std::min<int64_t>(geometry.num_experts(), (missing + 100 * all - 1) / (100 * all));
  int64_t largest = 0;
  for (const ExpertGeometry::Layer& layer : geometry.layers()) {
    largest = std::max(largest, layer.blob_bytes);
  }
  return std::min(num_missing * largest, std::max(slot_bytes / kSlotShare, spare_bytes / 2));
}

int64_t LayerStream::BytesOf(const ExpertFiles& files, absl::Span<const ExpertId> of_layer) {
  int64_t bytes = 0;
  for (const ExpertId id : of_layer) {
    bytes += (files.BlobBytes(id) + BlobLayout::kAlignment - 1) / BlobLayout::kAlignment *
             BlobLayout::kAlignment;
  }
  return bytes;
}

LayerStream::LayerStream(const ExpertFiles& files, const ExpertGeometry& geometry,
                         int64_t buffer_bytes, Device& device)
    : files_(files),
      geometry_(geometry),
      buffer_bytes_(buffer_bytes / BlobLayout::kAlignment * BlobLayout::kAlignment),
      device_(device) {
  for (const ExpertGeometry::Layer& from : geometry.layers()) {
    Layer layer;
    for (const ExpertSlice& slice : files.Slices({.layer = from.block, .index = 0})) {
      layer.part_bytes[layer.num_parts++] = slice.bytes;
    }
    layers_.push_back(layer);
  }
}

absl::StatusOr<std::unique_ptr<LayerStream>> LayerStream::Create(const ExpertFiles& files,
                                                                 const ExpertGeometry& geometry,
                                                                 int64_t buffer_bytes,
                                                                 Device& device) {
  CHECK_GE(buffer_bytes, BlobLayout::kAlignment);
  auto stream = absl::WrapUnique(new LayerStream(files, geometry, buffer_bytes, device));
  ASSIGN_OR_RETURN(stream->stream_, device.CreateStream());
  ASSIGN_OR_RETURN(stream->buffers_, device.Allocate(2 * stream->buffer_bytes_));
  const auto num_entries = static_cast<size_t>(geometry.size());
  const auto table_bytes = static_cast<int64_t>(num_entries * sizeof(ExpertEntry));
  ASSIGN_OR_RETURN(stream->table_, device.Allocate(table_bytes));
  ASSIGN_OR_RETURN(stream->pinned_, device.AllocatePinned(table_bytes));
  stream->entries_ = {reinterpret_cast<ExpertEntry*>(stream->pinned_.data()), num_entries};
  return stream;
}

LayerStream::~LayerStream() {
  if (!last_.empty()) device_.Drain(last_);
}

absl::Status LayerStream::Begin(const ExpertTable& table, const DeviceStream& kernels,
                                Bring bring) {
  CHECK(kernels_ == nullptr) << "a step is under way";
  CHECK_EQ(table.size(), geometry_.size());
  // The table of the step before is on its way no more.
  if (!last_.empty()) RETURN_IF_ERROR(device_.Wait(last_));
  bring_ = bring;
  copies_.clear();
  blocking_copies_.clear();
  num_copied_ = 0;
  bytes_copied_ = 0;
  for (int layer = 0; layer < static_cast<int>(layers_.size()); ++layer) {
    RETURN_IF_ERROR(Place(layer, table));
  }
  if (bring == Bring::kByKernels) {
    copies_.clear();
    for (Layer& layer : layers_) layer.first_copy = 0;
  }
  // Kernels of earlier steps read the buffers and the table.
  ASSIGN_OR_RETURN(const DeviceEvent earlier, device_.Record(kernels));
  RETURN_IF_ERROR(device_.StreamWait(stream_, earlier));
  kernels_ = &kernels;
  RETURN_IF_ERROR(device_.CopyToDevice(
      table_.data(), {pinned_.data(), static_cast<size_t>(pinned_.size())}, stream_));
  RETURN_IF_ERROR(Queue(0));
  return layers_.size() > 1 ? Queue(1) : absl::OkStatus();
}

absl::Status LayerStream::Place(int layer, const ExpertTable& table) {
  layers_[layer].first_copy = copies_.size();
  layers_[layer].first_blocking_copy = blocking_copies_.size();
  const int first = layer * geometry_.num_experts();
  const int64_t blob_bytes = geometry_.layers()[layer].blob_bytes;
  streamed_.clear();
  unpinned_.clear();
  for (int number = first; number < first + geometry_.num_experts(); ++number) {
    entries_[number] = table.entry(number);
    if (entries_[number].form == EntryForm::kStage) unpinned_.push_back(number);
  }
  std::byte* end = buffers_.data() + layer % 2 * buffer_bytes_;
  RETURN_IF_ERROR(PlaceUnpinned(layer, end));
  int64_t room = buffer_bytes_ - (end - (buffers_.data() + layer % 2 * buffer_bytes_));
  for (int number = first; number < first + geometry_.num_experts(); ++number) {
    if (!IsPinned(entries_[number].form) || room < blob_bytes) continue;
    room -= blob_bytes;
    streamed_.push_back(number);
  }
  for (int part = 0; part < layers_[layer].num_parts; ++part) PlacePart(layer, part, end);
  for (const int number : streamed_) entries_[number].form = EntryForm::kSlot;
  num_copied_ += static_cast<int>(streamed_.size());
  return absl::OkStatus();
}

absl::Status LayerStream::PlaceUnpinned(int layer, std::byte*& end) {
  const std::byte* const begin = end;
  for (const int number : unpinned_) {
    const ExpertSlices& slices = files_.Slices(geometry_.IdOf(number));
    const BlobLayout layout = slices.layout();
    if (end - begin + layout.bytes() > buffer_bytes_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          unpinned_.size(), " experts of layer ", geometry_.layers()[layer].block,
          " lie in no pinned memory and are more than the ", buffer_bytes_,
          " bytes of device memory for a layer of a prompt: raise --pin_budget or --expert_cache"));
    }
    for (int part = 0; part < layout.num_parts(); ++part) {
      const absl::Span<const std::byte> bytes = files_.Mapped(slices[part]);
      std::byte* const to = end + layout.offset(part);
      blocking_copies_.push_back(
          {.destination = to, .source = bytes.data(), .bytes = std::ssize(bytes)});
      entries_[number].parts[static_cast<size_t>(part)] = to;
      bytes_copied_ += std::ssize(bytes);
    }
    entries_[number].form = EntryForm::kSlot;
    end = AlignUp(end + layout.bytes());
  }
  num_copied_ += static_cast<int>(unpinned_.size());
  return absl::OkStatus();
}

void LayerStream::PlacePart(int layer, int part, std::byte*& end) {
  const int64_t bytes = layers_[layer].part_bytes[part];
  const std::byte* source_end = nullptr;
  for (const int number : streamed_) {
    const std::byte*& address = entries_[number].parts[part];
    // What lies behind a part must not move its successor off a multiple of 16.
    if (address == source_end && bytes % ExpertSource::kPartAlignment == 0) {
      // In the file the experts of a layer follow each other.
      copies_.back().bytes += bytes;
    } else {
      end = AlignUp(end);
      copies_.push_back({.destination = end, .source = address, .bytes = bytes});
    }
    source_end = address + bytes;
    address = end;
    end += bytes;
    bytes_copied_ += bytes;
  }
  end = AlignUp(end);
}

absl::Span<const HostToDeviceCopy> LayerStream::CopiesOf(int layer) const {
  const bool is_last = layer + 1 == static_cast<int>(layers_.size());
  const size_t begin = layers_[layer].first_copy;
  return absl::MakeConstSpan(copies_).subspan(
      begin, (is_last ? copies_.size() : layers_[layer + 1].first_copy) - begin);
}

absl::Span<const HostToDeviceCopy> LayerStream::BlockingCopiesOf(int layer) const {
  const bool is_last = layer + 1 == static_cast<int>(layers_.size());
  const size_t begin = layers_[layer].first_blocking_copy;
  return absl::MakeConstSpan(blocking_copies_)
      .subspan(begin, (is_last ? blocking_copies_.size() : layers_[layer + 1].first_blocking_copy) -
                          begin);
}

absl::Status LayerStream::Queue(int layer) {
  const absl::Span<const HostToDeviceCopy> copies = CopiesOf(layer);
  if (!copies.empty()) RETURN_IF_ERROR(device_.CopyBatchToDevice(copies, stream_));
  for (const HostToDeviceCopy& copy : BlockingCopiesOf(layer)) {
    RETURN_IF_ERROR(device_.CopyToDevice(
        copy.destination, absl::MakeConstSpan(copy.source, static_cast<size_t>(copy.bytes)),
        stream_));
  }
  ASSIGN_OR_RETURN(arrived_[layer % 2], device_.Record(stream_));
  return absl::OkStatus();
}

absl::Status LayerStream::BeforeLayer(int layer) {
  return device_.StreamWait(*kernels_, arrived_[layer % 2]);
}

absl::Status LayerStream::AfterLayer(int layer) {
  const bool copies_ahead = bring_ == Bring::kAhead || !blocking_copies_.empty();
  if (!copies_ahead || layer + 2 >= static_cast<int>(layers_.size())) return absl::OkStatus();
  ASSIGN_OR_RETURN(const DeviceEvent done, device_.Record(*kernels_));
  RETURN_IF_ERROR(device_.StreamWait(stream_, done));
  return Queue(layer + 2);
}

absl::StatusOr<const DeviceStream*> LayerStream::OpenCopies() {
  ASSIGN_OR_RETURN(const DeviceEvent now, device_.Record(*kernels_));
  RETURN_IF_ERROR(device_.StreamWait(stream_, now));
  return &stream_;
}

absl::Status LayerStream::WaitForCopies() {
  ASSIGN_OR_RETURN(const DeviceEvent now, device_.Record(stream_));
  return device_.StreamWait(*kernels_, now);
}

absl::Status LayerStream::End() {
  if (kernels_ == nullptr) return absl::OkStatus();
  const DeviceStream& kernels = *kernels_;
  kernels_ = nullptr;
  absl::StatusOr<DeviceEvent> last = device_.Record(stream_);
  if (!last.ok()) {
    device_.Drain(stream_);
    return last.status();
  }
  last_ = *std::move(last);
  return device_.StreamWait(kernels, last_);
}

}  // namespace strata
