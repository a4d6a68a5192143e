// The second half of the mixture of experts: the down products of all entries and their sum, in one
// kernel.
//
//   sum = +0;  sum = fma(weight of the entry, down hidden, sum)   in the order of rank
//   sum = fma(share, shared, sum)                   with a shared expert, whose output is there
//   y = residual + residual_scale * sum             with a residual, which may be y's own memory
//
// Bits are those of the CPU's ExpertsBlock. An expert's weights are read once for all its entries.
#ifndef STRATA_GENERATE_KERNELS_CUDA_EXPERT_SUM_H_
#define STRATA_GENERATE_KERNELS_CUDA_EXPERT_SUM_H_

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/product_plan.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

struct ExpertSum {
  int rows = 1;
  // By entry, in the form that `down` asks for; as values alone where TakesValues (one_row_launch.h).
  DeviceActivations hidden;
  DeviceRouting routing;
  const DeviceExpert* experts = nullptr;  // [num_experts], in device memory.
  // Not null: of one row, the down products of experts that are in no slot, [num_chosen][down.rows] by
  // rank; written by the kernel before this one.
  const float* mailed = nullptr;
  DeviceExpertMatrix down;
  // The routing and the table are read before the wait: the kernel right before this one stored none
  // of them.
  bool early_choice = false;
  FaultReport fault;  // Told when a down product is not finite, with the entry's row.

  const float* shared = nullptr;       // [rows][down.rows]; null: none.
  const float* shared_gate = nullptr;  // [rows]; share = sigmoid of it. Null: 1.

  float* y = nullptr;               // [rows][down.rows]
  const float* residual = nullptr;  // [rows][down.rows]; null: none.
  float residual_scale = 1.0f;
};

// kUnimplemented for a type that is no weights; else an error of the launch.
absl::Status LaunchExpertSum(const ExpertSum& sum, const KernelStream& stream,
                             const ProductPlan& plan = {});

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_EXPERT_SUM_H_
