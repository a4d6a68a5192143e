// Experts that have no slot, brought to device memory layer by layer for a step that wants most of
// them, as that of a long prompt does: while kernels compute a layer, the experts of the next one
// travel on a stream of their own into the other of two buffers. Each is copied once a step, and
// kernels read it from device memory however often they like.
//
//   stream.Begin(table, kernels, LayerStream::Bring::kAhead);
//   ... for each layer with experts, in order:
//     stream.BeforeLayer(layer);  // What the kernels' stream gets now waits for its experts.
//     ... kernels that find the experts of the layer in stream.table() ...
//     stream.AfterLayer(layer);
//   stream.End();                 // Also after an error of any of these.
//
// A step that wants few of them lets its kernels bring what they have chosen (kByKernels): the stream
// says where to, and lends the queue that other copies would use.
//
// Experts in slots are read there. Those that lie in no pinned memory have room first and are copied
// ahead in any step, since kernels can neither read nor bring them; copies of them block the caller until they have been
// read, behind the copies before. Of the others, those that a buffer has no room for are left where
// the tier's table has them. An event of the kernels' stream
// that is recorded after End stands for the copies as well, so the tier needs no other.
//
// Used by the thread of the engine; device, files and geometry outlive it. Sizes are in bytes.
#ifndef STRATA_CACHE_TIER_LAYER_STREAM_H_
#define STRATA_CACHE_TIER_LAYER_STREAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_loan.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

class LayerStream {
 public:
  // For one of the buffers, when slots take so many bytes and leave `spare_bytes` to nobody: the
  // experts of a layer that have no slot, and some more, as they are not spread evenly; less where
  // that is more than half of what is spare and than a kSlotShare-th of the slots. 0 when all experts have slots.
  static int64_t BufferBytes(const ExpertGeometry& geometry, int64_t slot_bytes,
                             int64_t spare_bytes);
  static constexpr int64_t kSlotShare = 40;
  // A buffer that holds these of one layer, whatever else is true of them.
  static int64_t BytesOf(const ExpertFiles& files, absl::Span<const ExpertId> of_layer);

  // kResourceExhausted when the device has no memory for two buffers.
  static absl::StatusOr<std::unique_ptr<LayerStream>> Create(const ExpertFiles& files,
                                                             const ExpertGeometry& geometry,
                                                             int64_t buffer_bytes, Device& device);
  ~LayerStream();

  enum class Bring { kAhead, kByKernels };

  // A step whose work on `kernels` follows. The tier's table as the step may read it: entries stay
  // as they are, and what they point to stays good, until the step has ended. kResourceExhausted
  // when a buffer has no room for what a layer has in no pinned memory.
  absl::Status Begin(const ExpertTable& table, const DeviceStream& kernels, Bring bring);
  // Layers are counted among those that have experts.
  absl::Status BeforeLayer(int layer);
  absl::Status AfterLayer(int layer);
  absl::Status End();

  // kByKernels, between BeforeLayer and AfterLayer: where kernels go that bring experts, behind all
  // that the kernels' stream holds now; and what that stream gets from now on waits for them.
  absl::StatusOr<const DeviceStream*> OpenCopies();
  absl::Status WaitForCopies();

  // ExpertEntry by number, in device memory. Those of a layer are good between BeforeLayer and
  // AfterLayer.
  const std::byte* table() const { return table_.data(); }
  // Of the step that has begun.
  Bring bring() const { return bring_; }
  // Of an expert of the layer, in the order of its blob.
  absl::Span<const int64_t> PartBytes(int layer) const {
    return {layers_[layer].part_bytes.data(), static_cast<size_t>(layers_[layer].num_parts)};
  }
  // Of one buffer.
  int64_t buffer_bytes() const { return buffer_bytes_; }
  // Both buffers, for whoever runs steps between those of this stream, on the same kernels' stream.
  absl::Span<std::byte> memory() { return {buffers_.data(), static_cast<size_t>(buffers_.size())}; }
  // Of the step: experts that are copied, or would be if they were chosen, and their bytes.
  int num_copied() const { return num_copied_; }
  int64_t bytes_copied() const { return bytes_copied_; }
  // Of device memory.
  int64_t bytes() const { return buffers_.size() + table_.size(); }

 private:
  struct Layer {
    int num_parts = 0;
    std::array<int64_t, 3> part_bytes = {};
    size_t first_copy = 0, first_blocking_copy = 0;  // Of the step.
  };

  LayerStream(const ExpertFiles& files, const ExpertGeometry& geometry, int64_t buffer_bytes,
              Device& device);
  // Decides what of the layer is copied, and where to.
  absl::Status Place(int layer, const ExpertTable& table);
  // From no pinned memory: all of them have room.
  absl::Status PlaceUnpinned(int layer, std::byte*& end);
  void PlacePart(int layer, int part, std::byte*& end);
  absl::Span<const HostToDeviceCopy> CopiesOf(int layer) const;
  absl::Span<const HostToDeviceCopy> BlockingCopiesOf(int layer) const;
  absl::Status Queue(int layer);

  const ExpertFiles& files_;
  const ExpertGeometry& geometry_;
  const int64_t buffer_bytes_;
  Device& device_;
  std::vector<Layer> layers_;
  DeviceStream stream_;
  DeviceMemory buffers_;
  DeviceMemory table_;
  PinnedMemory pinned_;
  absl::Span<ExpertEntry> entries_;  // The table of the step, in pinned memory.

  // Of the step.
  const DeviceStream* kernels_ = nullptr;  // Null between steps.
  Bring bring_ = Bring::kAhead;
  std::vector<int> streamed_;             // Numbers of the layer that is being placed.
  std::vector<int> unpinned_;             // The same, of no pinned memory.
  std::vector<HostToDeviceCopy> copies_;  // Of all layers; one for parts that follow each other.
  std::vector<HostToDeviceCopy> blocking_copies_;  // The same, of no pinned memory.
  std::array<DeviceEvent, 2> arrived_;             // By buffer.
  DeviceEvent last_;                               // Behind all copies.
  int num_copied_ = 0;
  int64_t bytes_copied_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_LAYER_STREAM_H_
