#include "strata/tools/weight_mix.h"

#include <cstdint>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/tensor_place.h"

namespace strata {
namespace {

constexpr absl::string_view kNames[] = {"experts, gate",   "experts, up",    "experts, gate and up",
                                        "experts, down",   "shared experts", "routers",
                                        "dense layers",    "attention",      "token embeddings",
                                        "table of rows",   "output",         "NextN block",
                                        "norms and others"};
static_assert(std::size(kNames) == kNumWeightRoles);

WeightRole RoleOfExpert(ExpertRole role) {
  switch (role) {
    case ExpertRole::kGate:
      return WeightRole::kExpertGate;
    case ExpertRole::kUp:
      return WeightRole::kExpertUp;
    case ExpertRole::kGateUp:
      return WeightRole::kExpertGateUp;
    case ExpertRole::kDown:
      return WeightRole::kExpertDown;
  }
  return WeightRole::kOther;
}

// Vectors are norms, biases and scales.
WeightRole RoleOfOther(const GgufTensor& tensor, TensorKind kind) {
  if (tensor.num_dims < 2) return WeightRole::kOther;
  if (kind == TensorKind::kOfBlock) return WeightRole::kMixer;
  if (absl::StartsWith(tensor.name, "token_embd.")) return WeightRole::kEmbedding;
  if (absl::StartsWith(tensor.name, "output.")) return WeightRole::kOutput;
  return WeightRole::kOther;
}

WeightRole RoleOf(const GgufTensor& tensor, int64_t trunk_layers) {
  const TensorPlace place = ClassifyTensor(tensor.name);
  if (place.kind == TensorKind::kNextN || place.block >= trunk_layers) return WeightRole::kNextN;
  switch (place.kind) {
    case TensorKind::kExpert:
      return RoleOfExpert(place.role);
    case TensorKind::kSharedExpert:
      return WeightRole::kSharedExpert;
    case TensorKind::kRouter:
      return WeightRole::kRouter;
    case TensorKind::kDenseFfn:
      return WeightRole::kDenseFfn;
    case TensorKind::kTable:
      return WeightRole::kTable;
    default:
      return RoleOfOther(tensor, place.kind);
  }
}

}  // namespace

absl::string_view NameOf(WeightRole role) { return kNames[static_cast<size_t>(role)]; }

WeightMix WeightMix::Of(const GgufFile& file, int64_t trunk_layers) {
  WeightMix mix;
  for (const GgufTensor& tensor : file.tensors()) {
    mix.bytes_[static_cast<size_t>(RoleOf(tensor, trunk_layers))][tensor.type] += tensor.bytes;
  }
  return mix;
}

}  // namespace strata
