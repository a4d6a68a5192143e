// What a step of a prompt is made of: its rows in pinned memory, in blocks of kMaxRows as the first
// kernel of a step takes them (begin_step.h), the angles of their positions, device memory to work
// in, and pinned memory for what comes back. All of it is taken once, for the longest step.
//
// Used by the engine's thread; written again only when the step that reads it has ended.
#ifndef STRATA_GENERATE_CUDA_PROMPT_STEP_H_
#define STRATA_GENERATE_CUDA_PROMPT_STEP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/kernels/cuda/draw_tokens.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class PromptStep {
 public:
  // `layout` has the rotations. Errors of the device: too little memory.
  static absl::StatusOr<std::unique_ptr<PromptStep>> Create(Device& device, const ModelGraph& graph,
                                                            const StepBlockLayout& layout,
                                                            int max_rows);

  // Of the device memory that Create takes.
  static int64_t DeviceBytes(const ModelGraph& graph, const StepBlockLayout& layout, int max_rows);

  int max_rows() const { return max_rows_; }
  // Of device memory.
  int64_t bytes() const { return device_memory_.size(); }
  const PromptMemory& memory() const { return memory_; }

  // An empty step.
  void Clear();
  int num_rows() const { return num_rows_; }
  // Where the next row goes. It is added before the next call.
  StepBlock& NextBlock();
  // The cosines and sines of the row that was added last, to be filled for each rotation.
  absl::Span<float> Angles(int rotation);

  // Of the rows so far; more than kMaxPromptRuns of them are no step.
  PromptRuns Runs() const;

  // The blocks of the step, and of each the memory that the first kernel reads.
  int num_blocks() const { return (num_rows_ + kMaxRows - 1) / kMaxRows; }
  const DeviceStep& block(int index) const { return blocks_[static_cast<size_t>(index)].step(); }
  const std::byte* block_memory(int index) const { return block_memory_ + index * block_bytes(); }
  const StepBlockLayout& block_layout() const { return block_layout_; }
  // Angles of a rotation in pinned memory, and where their copy is; [rows][dims].
  absl::Span<const float> pinned_angles(int rotation) const;
  float* device_angles(int rotation) const;

  // Written by the step, in pinned memory.
  DeviceStepResult& result(int block) const { return results_[block]; }
  std::byte* choices() const { return choices_; }  // ChoicesBytes of the step's rows.

 private:
  PromptStep(const StepBlockLayout& layout, int max_rows);
  int64_t block_bytes() const { return block_layout_.bytes(); }
  int64_t rotation_begin(int rotation) const {
    return layout_.rotation_offset(rotation) / kMaxRows * max_rows_;
  }

  const StepBlockLayout layout_;
  const StepBlockLayout block_layout_;  // Without rotations: all rows' angles lie together.
  const int max_rows_;
  DeviceMemory device_memory_;
  PinnedMemory pinned_;
  PromptMemory memory_;
  std::byte* block_memory_ = nullptr;
  float* angles_ = nullptr;
  DeviceStepResult* results_ = nullptr;
  std::byte* choices_ = nullptr;
  std::vector<StepBlock> blocks_;
  int num_rows_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_PROMPT_STEP_H_
