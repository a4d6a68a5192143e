#include "strata/generate/kernels/cuda/dense_product.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/product_inputs.h"
#include "strata/generate/kernels/cuda/product_launch.h"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/product_plan.h"

namespace strata {
namespace {

DenseTarget TargetOf(const DenseOutput& output, int first_row) {
  const int64_t skipped = first_row * output.matrix.rows;
  return {.matrix = MatrixOutputOf(output.matrix, output.fault),
          .y = output.y + skipped,
          .divisor = output.divisor,
          .residual = output.residual == nullptr ? nullptr : output.residual + skipped,
          .residual_scale = output.residual_scale};
}

absl::Status LaunchOutputsOfType(const DenseProduct& product, BlockType type,
                                 const KernelStream& stream, const ProductPlan& plan) {
  const int rows_at_once = RowsAtOnce(type, product.x.size, product.rows);
  for (int row = 0; row < product.rows; row += rows_at_once) {
    ProductParameters parameters;
    parameters.mode = ProductMode::kDense;
    parameters.rows = std::min(rows_at_once, product.rows - row);
    parameters.first_row = row;
    parameters.x = RowsFrom(product.x, row);
    parameters.norm = product.norm;
    for (int i = 0; i < product.num_outputs; ++i) {
      if (product.outputs[i].matrix.type != type) continue;
      parameters.outputs[parameters.num_outputs++] = TargetOf(product.outputs[i], row);
    }
    RETURN_IF_ERROR(
        LaunchProduct("a dense product", type, product.x.size, parameters, plan, stream));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LaunchDenseProduct(const DenseProduct& product, const KernelStream& stream,
                                const ProductPlan& plan) {
  CHECK(1 <= product.rows && product.rows <= kMaxRows) << product.rows;
  CHECK(product.norm.x == nullptr || product.norm.residual.part == nullptr);
  CHECK(1 <= product.num_outputs && product.num_outputs <= kMaxDenseMatrices);
  for (int i = 0; i < product.num_outputs; ++i) {
    const DeviceMatrix& matrix = product.outputs[i].matrix;
    CHECK_EQ(matrix.columns, product.x.size);
    const bool is_first_of_type =
        std::none_of(product.outputs, product.outputs + i,
                     [&](const DenseOutput& before) { return before.matrix.type == matrix.type; });
    if (!is_first_of_type) continue;
    RETURN_IF_ERROR(LaunchOutputsOfType(product, matrix.type, stream, plan));
  }
  return absl::OkStatus();
}

}  // namespace strata
