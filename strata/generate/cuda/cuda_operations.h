// What the operations of a model on a GPU share, whichever kernels they launch: what is reported
// when numbers are not finite, and the mixers that no kernel runs yet.
#ifndef STRATA_GENERATE_CUDA_CUDA_OPERATIONS_H_
#define STRATA_GENERATE_CUDA_CUDA_OPERATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/kernels/cuda/route_rows.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/layer_ops.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// A layer's router, its weights f32.
DeviceRouter RouterOf(const MixtureOfExperts& experts, const DeviceWeights& weights);
// Of the matrices that the normed rows of a layer with experts meet.
std::vector<BlockType> InputTypesOf(const MixtureOfExperts& experts);

class CudaOperations : public LayerOps {
 public:
  // What the operation of that number (step_fault.h) looks at: "the product of blk.0.attn_q.weight".
  const std::vector<std::string>& fault_texts() const { return fault_texts_; }

  using LayerOps::Mix;
  // Of models that CheckKernelsRun refuses: never called.
  absl::Status AddNgrams(const NgramEmbedding& ngrams) override;
  absl::Status Mix(int layer, const Residual& residual, const LatentAttention& attention) override;
  absl::Status Mix(int layer, const Residual& residual, const GatedDeltaNet& net) override;
  absl::Status Mix(int layer, const Residual& residual,
                   const ShortConvolution& convolution) override;

 protected:
  // `fault_word` is device memory of the step.
  explicit CudaOperations(uint32_t* fault_word) : fault_word_(fault_word) {}

  // The next operation's number.
  FaultReport Report(std::string text);
  FaultReport ProductOf(absl::string_view name);
  FaultReport InputOf(absl::string_view name);

  std::vector<std::string> fault_texts_;

 private:
  uint32_t* const fault_word_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_CUDA_OPERATIONS_H_
