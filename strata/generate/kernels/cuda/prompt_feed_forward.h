// Feed-forwards of many rows on tensor cores: of the chosen experts of each row, or of matrices
// that all rows share. Bits are those of prompt_product.h for each product, then those of the CPU's
// GatedProducts and ExpertsBlock.
//
// A layer with experts: GroupPromptRows, LaunchPromptGatedExperts, LaunchPromptDownExperts, for a
// shared expert LaunchPromptGatedDense and a product, LaunchPromptExpertSum.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_FEED_FORWARD_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_FEED_FORWARD_H_

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_group.h"
#include "strata/generate/kernels/cuda/prompt_product.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/gated_activation.h"

namespace strata {

struct PromptGatedFaults {
  FaultReport gate, up;  // Products that are not finite.
  FaultReport hidden;    // The activation's results.
};

// hidden = activation(gate x, up x) by entry.
struct PromptGatedExperts {
  int rows = 1;
  DeviceActivations x;  // By row.
  DeviceRouting routing;
  PromptGroups groups;                    // Of this routing.
  const DeviceExpert* experts = nullptr;  // [num_experts], in device memory.
  DeviceExpertMatrix gate, up;            // Of one shape.
  GatedActivation activation = GatedActivation::kSilu;
  // Of size gate.rows; `values` is always written, a32 and a256 where they are not null.
  DeviceActivations hidden;
  PromptGatedFaults faults;
};

// The same by row.
struct PromptGatedDense {
  int rows = 1;
  DeviceActivations x;
  DeviceMatrix gate, up;  // Of one shape.
  GatedActivation activation = GatedActivation::kSilu;
  DeviceActivations hidden;
  PromptGatedFaults faults;
};

// out = down hidden by entry.
struct PromptDownExperts {
  int rows = 1;
  DeviceActivations hidden;  // By entry, in the form that `down` asks for.
  DeviceRouting routing;
  PromptGroups groups;
  const DeviceExpert* experts = nullptr;
  DeviceExpertMatrix down;
  float* out = nullptr;  // [rows * num_chosen][down.rows]
  FaultReport fault;     // Told with the entry's row.
};

//   sum = +0;  sum = fma(weight of the entry, out of the entry, sum)   in the order of rank
//   sum = fma(share, shared, sum)                   with a shared expert
//   y = residual + residual_scale * sum             with a residual, which may be y's own memory
struct PromptExpertSum {
  int rows = 1;
  int64_t size = 0;  // A multiple of 4.
  DeviceRouting routing;
  const float* out = nullptr;          // [rows * num_chosen][size]
  const float* shared = nullptr;       // [rows][size]; null: none.
  const float* shared_gate = nullptr;  // [rows]; share = sigmoid of it. Null: 1.
  float* y = nullptr;                  // [rows][size]
  const float* residual = nullptr;     // [rows][size]; null: none.
  float residual_scale = 1.0f;
};

// kUnimplemented for a type that is no weights, or when gate and up have different types; else an
// error of the launch.
absl::Status LaunchPromptGatedExperts(const PromptGatedExperts& product,
                                      const KernelStream& stream);
absl::Status LaunchPromptGatedDense(const PromptGatedDense& product, const KernelStream& stream,
                                    const PromptPlan& plan = {});
absl::Status LaunchPromptDownExperts(const PromptDownExperts& product, const KernelStream& stream);
absl::Status LaunchPromptExpertSum(const PromptExpertSum& sum, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_FEED_FORWARD_H_
