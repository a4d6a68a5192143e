#include "strata/generate/cuda/step_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/batch_answers.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

StepWriter::StepWriter(const ModelGraph& graph, int64_t max_context)
    : graph_(graph), max_context_(max_context) {
  for (const Rotation& rotation : graph.rotations) rotary_.emplace_back(rotation.angles);
}

absl::StatusOr<int> StepWriter::AddRow(const StepRow& row, StepBlock& block) const {
  DeviceSequence& sequence = SequenceOf(row);
  CHECK_LT(row.position, max_context_);
  RETURN_IF_ERROR(sequence.Reserve(row.position + 1, block));
  const TokenId token = row.token == kLastDrawn ? sequence.last_drawn : row.token;
  CHECK(0 <= token && token < graph_.vocabulary) << token;
  return block.AddRow({.token = token,
                       .position = static_cast<int32_t>(row.position),
                       .first_page = sequence.first_page(),
                       .sequence = sequence.number()},
                      WantsOutput(row));
}

void StepWriter::WriteAngles(int rotation, int64_t position, absl::Span<float> angles) {
  RotaryTable& table = rotary_[static_cast<size_t>(rotation)];
  table.ExtendTo(position + 1);
  const absl::Span<const float> cosines = table.Cosines(position);
  const absl::Span<const float> sines = table.Sines(position);
  std::copy(sines.begin(), sines.end(), std::copy(cosines.begin(), cosines.end(), angles.begin()));
}

}  // namespace strata
