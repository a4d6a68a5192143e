#include "strata/generate/cuda/cuda_operations.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/route_rows.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

DeviceRouter RouterOf(const MixtureOfExperts& experts, const DeviceWeights& weights) {
  const RouterOptions& routing = experts.routing;
  const DeviceMatrix router = weights.Matrix(experts.router);
  return {.gating = routing.gating,
          .num_experts = routing.num_experts,
          .num_chosen = routing.num_chosen,
          .normalize = routing.normalize,
          .scale = routing.scale,
          .num_groups = routing.num_groups,
          .num_groups_used = routing.num_groups_used,
          .selection_bias = weights.Vector(routing.selection_bias),
          .weights = reinterpret_cast<const float*>(router.data),
          .logit_scale = router.scale,
          .logit_bias = router.bias};
}

std::vector<BlockType> InputTypesOf(const MixtureOfExperts& experts) {
  std::vector<BlockType> types = {experts.gate.type, experts.up.type};
  if (experts.shared.has_value()) {
    types.push_back(experts.shared->gate.weights.type);
    types.push_back(experts.shared->up.weights.type);
  }
  if (experts.shared_gate.has_value()) types.push_back(experts.shared_gate->weights.type);
  return types;
}

FaultReport CudaOperations::Report(std::string text) {
  fault_texts_.push_back(std::move(text));
  return {.word = fault_word_, .operation = static_cast<uint32_t>(fault_texts_.size()) - 1};
}
FaultReport CudaOperations::ProductOf(absl::string_view name) {
  return Report(absl::StrCat("the product of ", name));
}
FaultReport CudaOperations::InputOf(absl::string_view name) {
  return Report(absl::StrCat("the input of ", name));
}

absl::Status CudaOperations::AddNgrams(const NgramEmbedding& /*ngrams*/) {
  return absl::UnimplementedError("a table of n-grams on a GPU");
}
absl::Status CudaOperations::Mix(int /*layer*/, const Residual& /*residual*/,
                                 const LatentAttention& /*attention*/) {
  return absl::UnimplementedError("latent attention on a GPU");
}
absl::Status CudaOperations::Mix(int /*layer*/, const Residual& /*residual*/,
                                 const GatedDeltaNet& /*net*/) {
  return absl::UnimplementedError("a gated delta net on a GPU");
}
absl::Status CudaOperations::Mix(int /*layer*/, const Residual& /*residual*/,
                                 const ShortConvolution& /*convolution*/) {
  return absl::UnimplementedError("a short convolution on a GPU");
}

}  // namespace strata
