#include "strata/generate/kernels/cuda/prompt_feed_forward.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_arguments.h"
#include "strata/generate/kernels/cuda/prompt_launch.h"
#include "strata/generate/kernels/cuda/prompt_layers.h"

namespace strata {
namespace {

PromptTarget TargetOf(const DeviceMatrix& matrix, const FaultReport& fault) {
  return {.data = matrix.data,
          .rows = static_cast<int>(matrix.rows),
          .scale = matrix.scale,
          .bias = matrix.bias,
          .fault = fault};
}

PromptTarget TargetOf(const DeviceExpertMatrix& matrix, const FaultReport& fault) {
  return {.part = matrix.part,
          .offset = matrix.offset,
          .rows = static_cast<int>(matrix.rows),
          .scales = matrix.scales,
          .bias = matrix.biases,
          .fault = fault};
}

// Gate and up become one set of arguments; both are of `Matrix`.
template <typename Matrix>
absl::Status SetGated(const Matrix& gate, const Matrix& up, GatedActivation activation,
                      const DeviceActivations& hidden, const PromptGatedFaults& faults,
                      PromptArguments& arguments) {
  if (gate.type != up.type) {
    return absl::UnimplementedError(absl::StrCat(
        "gate and up of different types, ", InfoOf(gate.type).name, " and ", InfoOf(up.type).name));
  }
  CHECK(gate.rows == up.rows && gate.columns == up.columns);
  CHECK(hidden.size == gate.rows && hidden.values != nullptr);
  arguments.is_gated = true;
  arguments.activation = activation;
  arguments.columns = static_cast<int>(gate.columns);
  arguments.num_targets = 2;
  arguments.targets[0] = TargetOf(gate, faults.gate);
  arguments.targets[1] = TargetOf(up, faults.up);
  arguments.targets[0].y = hidden.values;
  return absl::OkStatus();
}

void SetGroups(const PromptGroups& groups, const DeviceRouting& routing,
               const DeviceExpert* experts, PromptArguments& arguments) {
  arguments.tiles = groups.tiles;
  arguments.tile_entries = groups.tile_entries;
  arguments.num_tiles = groups.num_tiles;
  arguments.entries = groups.entries;
  arguments.entries_per_row = routing.num_chosen;
  arguments.experts = experts;
}

PromptVectors VectorsOf(int rows, const DeviceRouting& routing, const PromptGroups& groups) {
  const int64_t entries = int64_t{rows} * routing.num_chosen;
  return {.count = entries,
          .max_tiles = MaxPromptTiles(entries, routing.num_experts, groups.tile_entries)};
}

}  // namespace

absl::Status LaunchPromptGatedExperts(const PromptGatedExperts& product,
                                      const KernelStream& stream) {
  PromptArguments arguments;
  RETURN_IF_ERROR(SetGated(product.gate, product.up, product.activation, product.hidden,
                           product.faults, arguments));
  SetGroups(product.groups, product.routing, product.experts, arguments);
  arguments.x = product.x;
  arguments.entries_per_vector = product.routing.num_chosen;
  const PromptVectors vectors = VectorsOf(product.rows, product.routing, product.groups);
  RETURN_IF_ERROR(LaunchPromptKernel("gate and up of experts", product.gate.type, arguments,
                                     vectors, PromptPlan(), stream));
  return QuantizePromptRows({.num_vectors = static_cast<int>(vectors.count),
                             .vectors = product.hidden,
                             .vectors_per_row = product.routing.num_chosen,
                             .fault = product.faults.hidden},
                            stream);
}

absl::Status LaunchPromptGatedDense(const PromptGatedDense& product, const KernelStream& stream,
                                    const PromptPlan& plan) {
  PromptArguments arguments;
  RETURN_IF_ERROR(SetGated(product.gate, product.up, product.activation, product.hidden,
                           product.faults, arguments));
  arguments.x = product.x;
  arguments.num_rows = product.rows;
  RETURN_IF_ERROR(LaunchPromptKernel("gate and up of a prompt", product.gate.type, arguments,
                                     {.count = product.rows}, plan, stream));
  return QuantizePromptRows({.num_vectors = product.rows,
                             .vectors = product.hidden,
                             .vectors_per_row = 1,
                             .fault = product.faults.hidden},
                            stream);
}

absl::Status LaunchPromptDownExperts(const PromptDownExperts& product, const KernelStream& stream) {
  PromptArguments arguments;
  SetGroups(product.groups, product.routing, product.experts, arguments);
  arguments.x = product.hidden;
  arguments.columns = static_cast<int>(product.down.columns);
  arguments.num_targets = 1;
  arguments.targets[0] = TargetOf(product.down, product.fault);
  arguments.targets[0].y = product.out;
  return LaunchPromptKernel("down of experts", product.down.type, arguments,
                            VectorsOf(product.rows, product.routing, product.groups), PromptPlan(),
                            stream);
}

}  // namespace strata
