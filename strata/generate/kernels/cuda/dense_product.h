// Products of the rows of a step with matrices that all rows share: queries, keys and values, the
// output of attention, the down half of a feed-forward, logits.
//
// Each value has the bits of kernels/mat_mul.h, whatever the number of rows and the rest of the
// step. The weights are read once for all rows.
#ifndef STRATA_GENERATE_KERNELS_CUDA_DENSE_PRODUCT_H_
#define STRATA_GENERATE_KERNELS_CUDA_DENSE_PRODUCT_H_

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/product_plan.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

inline constexpr int kMaxDenseMatrices = 4;

// y = matrix x for each row, in this order:
//
//   y = scale * (weights x) + bias       each step only where it does something
//   y = y / divisor                      unless it is 1 (logits)
//   y = residual + residual_scale * y    with a residual, which may be y's own memory
struct DenseOutput {
  DeviceMatrix matrix;
  float* y = nullptr;  // [rows][matrix.rows]
  float divisor = 1.0f;
  const float* residual = nullptr;  // [rows][matrix.rows]; null: none.
  float residual_scale = 1.0f;
  FaultReport fault;  // Told when weights x is not finite.
};

struct DenseProduct {
  int rows = 1;         // 1 to kMaxRows.
  DeviceActivations x;  // In the form that each matrix asks for (ActivationFormOf).
  // With an x, where TakesNorm (one_row_launch.h): x is what this norm would store in norm.out, of
  // which the size alone counts; nothing is stored. It adds no part to the state.
  NormTask norm;
  int num_outputs = 0;  // Their columns are x.size. Those of one type are computed by one kernel.
  DenseOutput outputs[kMaxDenseMatrices];
};

// kUnimplemented for a type that is no weights; else an error of the launch.
absl::Status LaunchDenseProduct(const DenseProduct& product, const KernelStream& stream,
                                const ProductPlan& plan = {});

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_DENSE_PRODUCT_H_
