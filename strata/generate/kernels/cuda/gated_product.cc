#include "strata/generate/kernels/cuda/gated_product.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/product_inputs.h"
#include "strata/generate/kernels/cuda/product_launch.h"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/product_plan.h"

namespace strata {
namespace {

absl::Status CheckTypes(absl::string_view name, BlockType gate, BlockType up) {
  if (gate == up) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(name, ": gate has weights of ", InfoOf(gate).name,
                                               ", up of ", InfoOf(up).name,
                                               "; they are computed when both have one type"));
}

// `hidden` has the vectors from number `first` on.
void FillTarget(const HiddenRows& hidden, int64_t first, GatedTarget& target) {
  target.hidden = RowsFrom(hidden.vectors, first);
  target.quantized_span = hidden.vectors.a256.q != nullptr  ? 256
                          : hidden.vectors.a32.q != nullptr ? 32
                                                            : 0;
  if (target.quantized_span == 0) return;
  const int64_t size = hidden.vectors.size;
  CHECK_EQ(size % target.quantized_span, 0) << "the size of hidden vectors";
  if (hidden.vectors.a32.q != nullptr) CHECK_EQ(size % 32, 0) << "the size of hidden vectors";
  target.spans = static_cast<int>(size / target.quantized_span);
  target.tickets = hidden.tickets + first * target.spans;
}

}  // namespace

absl::Status LaunchGatedExperts(const GatedExperts& product, const KernelStream& stream,
                                const ProductPlan& plan) {
  const DeviceExpertMatrix& gate = product.gate;
  RETURN_IF_ERROR(CheckTypes("gate and up of experts", gate.type, product.up.type));
  CHECK(1 <= product.rows && product.rows <= kMaxRows) << product.rows;
  CHECK(gate.rows == product.up.rows && gate.columns == product.up.columns);
  CHECK(gate.columns == product.x.size && gate.rows == product.hidden.vectors.size);
  CHECK(1 <= product.routing.num_chosen && product.routing.num_chosen <= kMaxChosenExperts);
  const int rows_at_once = RowsAtOnce(gate.type, gate.columns, product.rows);
  for (int row = 0; row < product.rows; row += rows_at_once) {
    ProductParameters parameters;
    parameters.mode = ProductMode::kGated;
    parameters.rows = std::min(rows_at_once, product.rows - row);
    parameters.first_row = row;
    parameters.x = RowsFrom(product.x, row);
    parameters.routing = RoutingFrom(product.routing, row);
    parameters.experts = product.experts;
    parameters.mailed = product.mailed;
    GatedTarget& target = parameters.gated;
    target.gate = MatrixOutputOf(gate, product.faults.gate);
    target.up = MatrixOutputOf(product.up, product.faults.up);
    target.activation = product.activation;
    target.fault = product.faults.hidden;
    FillTarget(product.hidden, int64_t{row} * product.routing.num_chosen, target);
    RETURN_IF_ERROR(
        LaunchProduct("gate and up of experts", gate.type, gate.columns, parameters, plan, stream));
  }
  return absl::OkStatus();
}

absl::Status LaunchGatedDense(const GatedDense& product, const KernelStream& stream,
                              const ProductPlan& plan) {
  const DeviceMatrix& gate = product.gate;
  RETURN_IF_ERROR(CheckTypes("gate and up", gate.type, product.up.type));
  CHECK(1 <= product.rows && product.rows <= kMaxRows) << product.rows;
  CHECK(gate.rows == product.up.rows && gate.columns == product.up.columns);
  CHECK(gate.columns == product.x.size && gate.rows == product.hidden.vectors.size);
  const int rows_at_once = RowsAtOnce(gate.type, gate.columns, product.rows);
  for (int row = 0; row < product.rows; row += rows_at_once) {
    ProductParameters parameters;
    parameters.mode = ProductMode::kGated;
    parameters.rows = std::min(rows_at_once, product.rows - row);
    parameters.first_row = row;
    parameters.x = RowsFrom(product.x, row);
    parameters.norm = product.norm;
    GatedTarget& target = parameters.gated;
    target.gate = MatrixOutputOf(gate, product.faults.gate);
    target.up = MatrixOutputOf(product.up, product.faults.up);
    target.activation = product.activation;
    target.fault = product.faults.hidden;
    FillTarget(product.hidden, row, target);
    RETURN_IF_ERROR(
        LaunchProduct("gate and up", gate.type, gate.columns, parameters, plan, stream));
  }
  return absl::OkStatus();
}

}  // namespace strata
