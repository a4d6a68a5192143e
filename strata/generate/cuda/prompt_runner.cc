#include "strata/generate/cuda/prompt_runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cuda_runtime_api.h"
#include "strata/cache/tier/layer_stream.h"
#include "strata/core/device.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/batch_answers.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/model/run_layers.h"

namespace strata {

int PromptRunner::MaxRows(int64_t prompt_batch, int64_t max_context) {
  // Whole blocks.
  constexpr int64_t kMost = std::numeric_limits<int>::max() / kMaxRows * kMaxRows;
  const int64_t rows = std::min(prompt_batch, max_context);
  return static_cast<int>(std::min((rows + kMaxRows - 1) / kMaxRows * kMaxRows, kMost));
}

PromptRunner::PromptRunner(const Collaborators& with)
    : with_(with),
      pace_(with.device, with.stream),
      layers_({.graph = with.graph,
               .weights = with.weights,
               .kv = with.kv,
               .step = with.step,
               .memory = with.memory,
               .outputs = with.outputs,
               .embedding = with.embedding,
               .expert_table = with.experts == nullptr ? nullptr : with.experts->table_image(),
               .stream = {.stream = static_cast<cudaStream_t>(with.stream.handle())},
               .pace = pace_}) {}

size_t PromptRunner::NumRows(absl::Span<const StepRow> rows, bool wants_hidden) const {
  const int64_t most = wants_hidden ? kMaxRows : with_.step.max_rows();
  int num_runs = 0, num_wanted = 0;
  size_t count = 0;
  for (; count < rows.size() && static_cast<int64_t>(count) < most; ++count) {
    const StepRow& row = rows[count];
    num_runs += count == 0 || rows[count - 1].sequence != row.sequence ||
                rows[count - 1].position + 1 != row.position;
    num_wanted += WantsOutput(row);
    if (num_runs > kMaxPromptRuns || num_wanted > kMaxRows) break;
  }
  return count;
}

absl::Status PromptRunner::Launch(absl::Span<const StepRow> rows, const StepShape& shape,
                                  const std::function<bool()>* should_stop) {
  if (with_.experts != nullptr && !with_.experts->patch().empty()) {
    RETURN_IF_ERROR(with_.experts->RecoverTable());
  }
  PromptStep& step = with_.step;
  step.Clear();
  for (const StepRow& row : rows) {
    RETURN_IF_ERROR(with_.writer.AddRow(row, step.NextBlock()).status());
    for (int rotation = 0; rotation < with_.writer.num_rotations(); ++rotation) {
      with_.writer.WriteAngles(rotation, row.position, step.Angles(rotation));
    }
  }
  pace_.Begin(should_stop);
  const absl::Status launched = Run(shape);
  // What was launched reads the step, which may be written again then.
  if (!launched.ok()) with_.device.Drain(with_.stream);
  return launched;
}

absl::Status PromptRunner::Run(const StepShape& shape) {
  LayerStream* const stream = with_.experts == nullptr ? nullptr : with_.experts->layer_stream();
  layers_.Begin(shape, stream);
  if (stream == nullptr) return RunLayers(with_.graph, layers_);
  const int64_t num_choices = int64_t{shape.rows} * with_.graph.experts.num_used();
  const bool wants_all = num_choices >= kChoicesForAll * with_.graph.experts.num_experts();
  absl::Status status =
      stream->Begin(with_.experts->table(), with_.stream,
                    wants_all ? LayerStream::Bring::kAhead : LayerStream::Bring::kByKernels);
  if (status.ok()) status = RunLayers(with_.graph, layers_);
  status.Update(stream->End());
  return status;
}

}  // namespace strata
