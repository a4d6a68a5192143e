// The operations of a model for a prompt's step (model/layer_ops.h), on tensor cores
// (docs/design/cuda-prompts.md). They are launched anew for each step. Its last kernels are those of
// other steps, for kMaxRows rows at a time (cuda_layers.h).
//
// Used by the engine's thread; all that it is made with outlives it.
#ifndef STRATA_GENERATE_CUDA_CUDA_PROMPT_LAYERS_H_
#define STRATA_GENERATE_CUDA_CUDA_PROMPT_LAYERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "strata/cache/tier/layer_stream.h"
#include "strata/core/block_type.h"
#include "strata/core/device.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/cuda/cuda_operations.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/cuda/launch_pace.h"
#include "strata/generate/cuda/prompt_step.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/kernels/cuda/begin_step.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/prompt_group.h"
#include "strata/generate/kernels/cuda/prompt_product.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// kUnimplemented, naming the part, for a model whose prompts these kernels cannot run.
absl::Status CheckPromptKernelsRun(const ModelGraph& graph, int compute_capability);

class CudaPromptLayers : public CudaOperations {
 public:
  struct Collaborators {
    const ModelGraph& graph;
    const DeviceWeights& weights;
    const DeviceKv& kv;
    const PromptStep& step;
    const StepMemory& memory;  // For the end of a step.
    const StepOutputs& outputs;
    DeviceEmbedding embedding;
    const std::byte* expert_table = nullptr;  // In device memory; null without experts.
    Device& device;
    const DeviceStream& launches;  // What `stream` is to kernels.
    KernelStream stream;
  };

  explicit CudaPromptLayers(const Collaborators& with);

  // The operations that follow are of the step as it is now, experts without slots by way of `experts`,
  // which has begun the step too; null: where they lie. What its rows want is `shape`'s, whose
  // number of rows is the step's; they want at most kMaxRows logits together, and hidden states
  // only where there are no more rows than that.
  // should_stop is null where nobody asks the step to stop; it is asked after each layer, of which the
  // device is two behind at most.
  void Begin(const StepShape& shape, const std::function<bool()>* should_stop,
             LayerStream* experts);
  // Of the host, for the device, in all steps so far.
  double waited_ms() const { return pace_.waited_ms(); }
  // After the step has ended: moves what its blocks drew together, as outputs.result.
  void CollectResults() const;

  using CudaOperations::Mix;
  absl::Status Embed(const ModelGraph& graph) override;
  absl::Status Mix(int layer, const Residual& residual, const SelfAttention& attention) override;
  absl::Status Feed(int layer, const Residual& residual, const FeedForward& dense) override;
  absl::Status Feed(int layer, const Residual& residual, const MixtureOfExperts& experts) override;
  absl::Status EndLayer(int layer) override;
  absl::Status Output(const ModelGraph& graph) override;

 private:
  // The memory of a block of the step, in the names of other steps.
  struct Block {
    StepMemory memory;
    StepOutputs outputs;
    StepShape shape;
  };
  Block BlockOf(int index, int wanted_before) const;
  CudaLayers LayersOf(int index, const Block& block) const;

  absl::Status Norm(const Residual& residual, DeviceActivations out, FaultReport fault);
  float* PartOutput(const Residual& residual) const;
  const float* PartResidual(const Residual& residual) const;
  absl::Status LeavePart(const Residual& residual);
  absl::Status Product(const DeviceActivations& x, const Linear& linear, float* y);
  // The last product of a part.
  absl::Status PartProduct(const DeviceActivations& x, const Linear& linear,
                           const Residual& residual);

  absl::Status Prepare(int layer, const SelfAttention& attention);
  absl::Status Attend(int layer, const SelfAttention& attention);
  absl::Status Route(const Residual& residual, const MixtureOfExperts& experts);
  absl::Status RunGated(const FeedForward& part, const DeviceActivations& hidden);
  // Down of all entries, after gate and up.
  enum class ExpertParts { kGateAndUp, kDown };
  // Where kernels bring what the step chose: starts it, and makes later kernels wait for it.
  absl::Status BringExperts(ExpertParts parts, const PromptGroups& groups,
                            const DeviceRouting& routing);
  absl::Status WaitForExperts();
  absl::Status RunExperts(const MixtureOfExperts& experts, const DeviceRouting& routing);
  absl::Status RunShared(const MixtureOfExperts& experts);
  int32_t* ChosenOfLayer() const;
  // The part of a table of all experts that is of this layer.
  const DeviceExpert* TableOfLayer(const std::byte* table, const DeviceRouting& routing) const;

  const Collaborators with_;
  const PromptMemory& memory_;
  StepShape shape_;
  int rows_ = 0;
  PromptRuns runs_;
  const std::function<bool()>* should_stop_ = nullptr;
  LayerStream* layer_stream_ = nullptr;
  int moe_layer_ = 0;  // The next one.
  LaunchPace pace_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_CUDA_PROMPT_LAYERS_H_
