#include "strata/generate/kernels/cuda/prompt_product.h"

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_arguments.h"
#include "strata/generate/kernels/cuda/prompt_launch.h"

namespace strata {
namespace {

PromptTarget TargetOf(const PromptOutput& output) {
  return {.data = output.matrix.data,
          .rows = static_cast<int>(output.matrix.rows),
          .scale = output.matrix.scale,
          .bias = output.matrix.bias,
          .y = output.y,
          .divisor = output.divisor,
          .residual = output.residual,
          .residual_scale = output.residual_scale,
          .fault = output.fault};
}

}  // namespace

absl::Status LaunchPromptProduct(const PromptProduct& product, const KernelStream& stream,
                                 const PromptPlan& plan) {
  CHECK(0 < product.num_outputs && product.num_outputs <= kMaxPromptMatrices);
  for (int begin = 0; begin < product.num_outputs;) {
    const BlockType type = product.outputs[begin].matrix.type;
    PromptArguments arguments;
    arguments.columns = static_cast<int>(product.x.size);
    arguments.x = product.x;
    arguments.num_rows = product.rows;
    int end = begin;
    for (; end < product.num_outputs && product.outputs[end].matrix.type == type; ++end) {
      CHECK_EQ(product.outputs[end].matrix.columns, product.x.size);
      arguments.targets[arguments.num_targets++] = TargetOf(product.outputs[end]);
    }
    RETURN_IF_ERROR(LaunchPromptKernel("product of a prompt", type, arguments,
                                       {.count = product.rows}, plan, stream));
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace strata
