// Keys and values in device memory: pages of all attention layers together, lent to sequences.
//
// A page holds kKvPagePositions positions (kernels/cuda/kv_page.h). Kernels find a sequence's pages
// through the page table, of which each sequence has a run; the entries are set by patches of the
// step that first needs them. Pages come in slabs as positions come into use.
//
// Used by the engine's thread. The device outlives it; it outlives its sequences.
#ifndef STRATA_GENERATE_CUDA_DEVICE_KV_H_
#define STRATA_GENERATE_CUDA_DEVICE_KV_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/device.h"
#include "strata/core/device_loan.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class DeviceKv {
 public:
  // Sequences that may live at once.
  static constexpr int kMaxSequences = 64;

  DeviceKv(Device& device, KvType type, const ModelGraph& graph, int64_t max_context);

  // Of the model's layer.
  const KvLayer& layer(int index) const { return layers_[static_cast<size_t>(index)]; }
  int pages_of_sequence() const { return pages_of_sequence_; }
  int64_t table_entries() const { return int64_t{kMaxSequences} * pages_of_sequence_; }

  // Takes memory for so many positions of sequences that have no pages yet now, rather than when they
  // come into use.
  absl::Status Reserve(int64_t num_positions);
  // Of all pages in memory.
  int64_t bytes() const { return bytes_; }
  int64_t page_bytes() const { return page_bytes_; }

 private:
  friend class DeviceSequence;

  absl::StatusOr<std::byte*> TakePage();
  absl::Status AddSlab(int64_t num_pages);

  Device& device_;
  std::vector<KvLayer> layers_;
  int64_t page_bytes_ = 0;
  const int pages_of_sequence_;
  std::vector<DeviceMemory> slabs_;
  std::vector<std::byte*> free_pages_;
  std::vector<int> free_numbers_;  // Of sequences.
  int64_t bytes_ = 0;
};

// What the engine remembers of one sequence.
class DeviceSequence : public SequenceState {
 public:
  // At most kMaxSequences at a time.
  explicit DeviceSequence(DeviceKv& kv);
  ~DeviceSequence() override;
  DeviceSequence(const DeviceSequence&) = delete;
  DeviceSequence& operator=(const DeviceSequence&) = delete;

  int64_t position() const override { return position_; }
  int64_t Rewind(int64_t position) override;
  absl::Status MakeRoom(int64_t num_positions) override;

  int number() const { return number_; }
  // Its run of the page table.
  int first_page() const { return number_ * kv_.pages_of_sequence(); }
  // Makes positions below `num_positions` ready to be stored by the step of this block. An error is
  // the device's: too little memory.
  absl::Status Reserve(int64_t num_positions, StepBlock& block);
  // Positions below `end` are stored.
  void Advance(int64_t end) { position_ = end; }

  TokenId last_drawn = 0;

 private:
  DeviceKv& kv_;
  const int number_;
  std::vector<std::byte*> pages_;
  int64_t position_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_DEVICE_KV_H_
