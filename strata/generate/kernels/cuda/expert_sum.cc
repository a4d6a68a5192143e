#include "strata/generate/kernels/cuda/expert_sum.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/product_inputs.h"
#include "strata/generate/kernels/cuda/product_launch.h"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/product_plan.h"

namespace strata {

absl::Status LaunchExpertSum(const ExpertSum& sum, const KernelStream& stream,
                             const ProductPlan& plan) {
  const DeviceExpertMatrix& down = sum.down;
  CHECK(1 <= sum.rows && sum.rows <= kMaxRows) << sum.rows;
  CHECK_EQ(down.columns, sum.hidden.size);
  CHECK(1 <= sum.routing.num_chosen && sum.routing.num_chosen <= kMaxChosenExperts);
  const int rows_at_once = RowsAtOnce(down.type, down.columns, sum.rows);
  for (int row = 0; row < sum.rows; row += rows_at_once) {
    const auto from_row = [row](const float* values, int64_t size) {
      return values == nullptr ? nullptr : values + row * size;
    };
    ProductParameters parameters;
    parameters.mode = ProductMode::kSum;
    parameters.rows = std::min(rows_at_once, sum.rows - row);
    parameters.first_row = row;
    parameters.x = RowsFrom(sum.hidden, int64_t{row} * sum.routing.num_chosen);
    parameters.routing = RoutingFrom(sum.routing, row);
    parameters.experts = sum.experts;
    parameters.mailed = sum.mailed;
    parameters.early_choice = sum.early_choice;
    parameters.sum = {.down = MatrixOutputOf(down, sum.fault),
                      .shared = from_row(sum.shared, down.rows),
                      .shared_gate = from_row(sum.shared_gate, 1),
                      .y = sum.y + row * down.rows,
                      .residual = from_row(sum.residual, down.rows),
                      .residual_scale = sum.residual_scale};
    RETURN_IF_ERROR(
        LaunchProduct("down of experts", down.type, down.columns, parameters, plan, stream));
  }
  return absl::OkStatus();
}

}  // namespace strata
