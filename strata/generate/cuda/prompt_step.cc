#include "strata/generate/cuda/prompt_step.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/memory/memory.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/device.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/device_region.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/draw_tokens.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

PromptStep::PromptStep(const StepBlockLayout& layout, int max_rows)
    : layout_(layout), block_layout_({.max_page_patches = kMaxRows}), max_rows_(max_rows) {}

int64_t PromptStep::DeviceBytes(const ModelGraph& graph, const StepBlockLayout& layout,
                                int max_rows) {
  DeviceRegion measure;
  LayPromptMemory(graph, layout, max_rows, measure);
  return measure.bytes();
}

absl::StatusOr<std::unique_ptr<PromptStep>> PromptStep::Create(Device& device,
                                                               const ModelGraph& graph,
                                                               const StepBlockLayout& layout,
                                                               int max_rows) {
  auto step = absl::WrapUnique(new PromptStep(layout, max_rows));
  const int64_t bytes = DeviceBytes(graph, layout, max_rows);
  absl::StatusOr<DeviceMemory> memory = device.Allocate(bytes);
  if (!memory.ok()) {
    return MachineError(absl::StrCat("prompts of ", max_rows, " tokens at once need ",
                                     FormatByteSize(bytes),
                                     " of GPU memory to work in: lower --prompt_batch"));
  }
  step->device_memory_ = *std::move(memory);
  DeviceRegion region(step->device_memory_.data());
  step->memory_ = LayPromptMemory(graph, layout, max_rows, region);

  const int num_blocks = max_rows / kMaxRows;
  const auto lay_pinned = [&](DeviceRegion& pinned) {
    step->block_memory_ = pinned.Take<std::byte>(num_blocks * step->block_bytes());
    step->angles_ = pinned.Take<float>(step->rotation_begin(layout.num_rotations));
    step->results_ = pinned.Take<DeviceStepResult>(num_blocks);
    step->choices_ = pinned.Take<std::byte>(ChoicesBytes(graph, max_rows));
  };
  DeviceRegion measure_pinned;
  lay_pinned(measure_pinned);
  ASSIGN_OR_RETURN(step->pinned_, device.AllocatePinned(measure_pinned.bytes()));
  DeviceRegion pinned(step->pinned_.data());
  lay_pinned(pinned);
  for (int i = 0; i < num_blocks; ++i) {
    step->blocks_.emplace_back(step->block_layout_, step->block_memory_ + i * step->block_bytes());
  }
  return step;
}

void PromptStep::Clear() { num_rows_ = 0; }

StepBlock& PromptStep::NextBlock() {
  CHECK_LT(num_rows_, max_rows_);
  StepBlock& block = blocks_[static_cast<size_t>(num_rows_ / kMaxRows)];
  if (num_rows_ % kMaxRows == 0) block.Clear();
  ++num_rows_;
  return block;
}

absl::Span<float> PromptStep::Angles(int rotation) {
  const int64_t dims = layout_.rotation_dims[rotation];
  return {angles_ + rotation_begin(rotation) + (num_rows_ - 1) * dims, static_cast<size_t>(dims)};
}

PromptRuns PromptStep::Runs() const {
  PromptRuns runs;
  const DeviceStepRow* before = nullptr;
  for (int row = 0; row < num_rows_; ++row) {
    const DeviceStepRow& here = block(row / kMaxRows).rows[row % kMaxRows];
    const bool goes_on = before != nullptr && before->sequence == here.sequence &&
                         before->position + 1 == here.position;
    if (!goes_on) {
      CHECK_LT(runs.count, kMaxPromptRuns);
      runs.runs[runs.count++] = {
          .first_row = row, .first_position = here.position, .first_page = here.first_page};
    }
    ++runs.runs[runs.count - 1].num_rows;
    before = &here;
  }
  return runs;
}

absl::Span<const float> PromptStep::pinned_angles(int rotation) const {
  return {angles_ + rotation_begin(rotation),
          static_cast<size_t>(num_rows_) * static_cast<size_t>(layout_.rotation_dims[rotation])};
}

float* PromptStep::device_angles(int rotation) const {
  return memory_.rotary + rotation_begin(rotation);
}

}  // namespace strata
