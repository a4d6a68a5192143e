// The operations of a model on a GPU (model/layer_ops.h): each launches its kernels on a stream,
// which records them. What changes from step to step is read from the step's block, so what was
// recorded is replayed for every step of the same shape.
//
// Used by the engine's thread; all that it is made with outlives it.
#ifndef STRATA_GENERATE_CUDA_CUDA_LAYERS_H_
#define STRATA_GENERATE_CUDA_CUDA_LAYERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/core/block_type.h"
#include "strata/generate/cuda/cuda_operations.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/kernels/cuda/begin_step.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/draw_tokens.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// What a recorded step is made for. Steps of one shape differ in data alone.
struct StepShape {
  int rows = 1;
  int wanted = 0;              // Rows that want logits, or have a token drawn.
  bool copies_logits = false;  // To pinned memory.
  bool wants_hidden = false;
  bool mails_misses = false;  // The host serves them: of one row.
  friend auto operator<=>(const StepShape&, const StepShape&) = default;
};

// Pinned memory that kernels write to.
struct StepOutputs {
  DeviceStepResult* result = nullptr;
  std::byte* choices = nullptr;    // ChoicesBytes of kMaxRows rows; null: they go nowhere.
  std::byte* landed = nullptr;     // LandedBytes; null: nothing lands.
  float* logits = nullptr;         // [kMaxRows][vocabulary]
  float* hidden_states = nullptr;  // [kMaxRows][width]
};

// kUnimplemented, naming the layer, where experts that a step of one row misses cannot be left to
// the host.
absl::Status CheckMissesCanBeMailed(const ModelGraph& graph);

class CudaLayers : public CudaOperations {
 public:
  struct Collaborators {
    const ModelGraph& graph;
    const DeviceWeights& weights;
    const DeviceKv& kv;
    const StepMemory& memory;
    const StepOutputs& outputs;
    DeviceEmbedding embedding;
    StepBlockLayout layout;
    ExpertMail mail;  // For shapes with mails_misses.
    // Of the blobs of each layer that has experts, where mail brings them.
    std::vector<std::array<int64_t, 3>> part_offsets;
    const std::byte* block = nullptr;         // Pinned, where StepBlock writes.
    const std::byte* expert_table = nullptr;  // In device memory; null without experts.
    // Some experts have no slot: what a layer misses of them is fetched, into this memory where it
    // does not land.
    bool fetches_misses = false;
    absl::Span<std::byte> fetch_memory = {};
    KernelStream stream;
  };

  explicit CudaLayers(const Collaborators& with);

  // The operations that follow are of a step of this shape. Their faults are numbered from the end
  // of `fault_texts`, those of operations before.
  void Begin(const StepShape& shape, std::vector<std::string> fault_texts = {});

  using CudaOperations::Mix;
  absl::Status Embed(const ModelGraph& graph) override;
  absl::Status Mix(int layer, const Residual& residual, const SelfAttention& attention) override;
  absl::Status Feed(int layer, const Residual& residual, const FeedForward& dense) override;
  absl::Status Feed(int layer, const Residual& residual, const MixtureOfExperts& experts) override;
  absl::Status EndLayer(int /*layer*/) override { return absl::OkStatus(); }
  absl::Status Output(const ModelGraph& graph) override;

 private:
  NormTask NormBefore(const Residual& residual, DeviceActivations out, FaultReport fault) const;
  // The end of a part: where its last product goes, so that the state becomes x + scale * part. With
  // a norm after it, the product goes to `part`, and LeavePart does the rest.
  float* PartOutput(const Residual& residual) const;
  const float* PartResidual(const Residual& residual) const;
  absl::Status LeavePart(const Residual& residual);

  // Without queries.
  PrepareTask PrepareTaskOf(int layer, const SelfAttention& attention);
  // With the norms and rotations before it.
  absl::Status Attend(int layer, const SelfAttention& attention);
  absl::Status Route(const Residual& residual, const MixtureOfExperts& experts);
  bool MayLand() const { return with_.outputs.landed != nullptr; }
  // Where kernels find what the layer, a block number, has chosen: an image of the table's kind.
  const DeviceExpert* TableOfLayer() const;
  absl::Status Fetch(int layer, const DeviceRouting& routing);
  bool BringsMisses() const { return shape_.mails_misses && with_.mail.staged_table != nullptr; }
  // What the host computes stays where it is; all else comes to device memory.
  bool FetchesMisses() const { return with_.fetches_misses && (!shape_.mails_misses || MayLand()); }
  // Tells the host what is missed, and waits for what it made of that.
  absl::Status Post(const DeviceRouting& routing, const DeviceExpert* table);
  absl::Status Await();
  absl::Status RunShared(const MixtureOfExperts& experts);
  // The norm before products with weights of these types: launched, or left to the products, which
  // then get it as `made_by_product`.
  absl::Status NormFor(absl::Span<const BlockType> types, const NormTask& norm,
                       NormTask& made_by_product) const;
  // hidden = activation(gate, up), of what the norm makes if it has an x.
  absl::Status RunGated(const FeedForward& part, const NormTask& norm,
                        const DeviceActivations& hidden, uint32_t* tickets);
  // Where `num_vectors` hidden vectors of each row go, in the forms that down wants.
  DeviceActivations HiddenFor(const DeviceActivations& memory, int64_t size, BlockType type,
                              int num_vectors) const;
  DeviceRouting RoutingOfLayer(const MixtureOfExperts& experts) const;

  const Collaborators with_;
  const StepMemory& memory_;
  StepShape shape_;
  int moe_layer_ = 0;  // The next one.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_CUDA_LAYERS_H_
