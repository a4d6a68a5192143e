// Runs the steps of prompts: which rows make one, its data, and its kernels, launched anew for each
// step, with the experts that have no slot brought layer by layer.
//
// Used by the engine's thread; all that it is made with outlives it.
#ifndef STRATA_GENERATE_CUDA_PROMPT_RUNNER_H_
#define STRATA_GENERATE_CUDA_PROMPT_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/cuda/cuda_prompt_layers.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/cuda/layer_pace.h"
#include "strata/generate/cuda/prompt_step.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/cuda/step_writer.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/cuda/begin_step.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {

class PromptRunner {
 public:
  struct Collaborators {
    const ModelGraph& graph;
    const DeviceWeights& weights;
    const DeviceKv& kv;
    const StepMemory& memory;
    const StepOutputs& outputs;
    PromptStep& step;
    DeviceEmbedding embedding;
    ExpertPlacement* experts = nullptr;  // Null without experts.
    StepWriter& writer;
    Device& device;
    const DeviceStream& stream;
  };

  // Of a step, for a batch of prompts of so many tokens.
  static int MaxRows(int64_t prompt_batch, int64_t max_context);

  explicit PromptRunner(const Collaborators& with);

  // Of these rows of a batch, how many make the next step: of a few runs of positions, few of which
  // want logits.
  size_t NumRows(absl::Span<const StepRow> rows, bool wants_hidden) const;
  // Of the first so many rows. When it fails, nothing of it is under way.
  absl::Status Launch(absl::Span<const StepRow> rows, const StepShape& shape,
                      const std::function<bool()>* should_stop);
  // Of the host, for the device, while it launched that step.
  double waited_ms() const { return pace_.waited_ms(); }
  // After that step has ended: what its blocks have drawn is then in the outputs.
  void CollectResults() const { layers_.CollectResults(); }
  const std::vector<std::string>& fault_texts() const { return layers_.fault_texts(); }
  const std::byte* choices() const { return with_.step.choices(); }

 private:
  // Choices of a layer for each of its experts, from which on a step wants nearly all of them.
  static constexpr int64_t kChoicesForAll = 8;

  absl::Status Run(const StepShape& shape);

  const Collaborators with_;
  LayerPace pace_;
  CudaPromptLayers layers_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_PROMPT_RUNNER_H_
