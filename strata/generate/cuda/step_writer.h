// Writes the rows of a step into its block: tokens, positions, pages, and the angles of rotations.
//
// Used by the engine's thread; the graph outlives it.
#ifndef STRATA_GENERATE_CUDA_STEP_WRITER_H_
#define STRATA_GENERATE_CUDA_STEP_WRITER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class StepWriter {
 public:
  StepWriter(const ModelGraph& graph, int64_t max_context);

  // The row's number in the block. Takes pages for it; the errors of DeviceSequence::Reserve.
  absl::StatusOr<int> AddRow(const StepRow& row, StepBlock& block) const;
  int num_rotations() const { return static_cast<int>(rotary_.size()); }
  void WriteAngles(int rotation, int64_t position, absl::Span<float> angles);

 private:
  const ModelGraph& graph_;
  const int64_t max_context_;
  std::vector<RotaryTable> rotary_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_STEP_WRITER_H_
