// Products of many rows with matrices that all rows share, on tensor cores.
//
// Quantized weights: each value has the bits of kernels/mat_mul.h. F16, BF16 and F32 weights: f32
// sums in an order of their own, close to those bits; the terms that operands are split into keep
// 22 bits or more (prompt_split.h).
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_PRODUCT_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_PRODUCT_H_

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

inline constexpr int kMaxPromptMatrices = 4;

// How a kernel cuts its work. No choice changes a bit of a result.
struct PromptPlan {
  int tile_rows = 0;  // Rows of activations that a block takes at once: 64, 128, or 0 for either.
};

// y = matrix x for each row, in this order:
//
//   y = scale * (weights x) + bias       each step only where it does something
//   y = y / divisor                      unless it is 1 (logits)
//   y = residual + residual_scale * y    with a residual, which may be y's own memory
struct PromptOutput {
  DeviceMatrix matrix;
  float* y = nullptr;  // [rows][matrix.rows]
  float divisor = 1.0f;
  const float* residual = nullptr;  // [rows][matrix.rows]; null: none.
  float residual_scale = 1.0f;
  FaultReport fault;  // Told when weights x is not finite.
};

struct PromptProduct {
  int rows = 1;
  DeviceActivations x;  // In the form that each matrix asks for (ActivationFormOf).
  int num_outputs = 0;  // Their columns are x.size. Neighbours of one type share a kernel.
  PromptOutput outputs[kMaxPromptMatrices];
};

// kUnimplemented for a type that is no weights; else an error of the launch.
absl::Status LaunchPromptProduct(const PromptProduct& product, const KernelStream& stream,
                                 const PromptPlan& plan = {});

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_PRODUCT_H_
