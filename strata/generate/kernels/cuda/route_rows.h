// The norm before the experts, their router and its choice, in one kernel. Several blocks share the
// router's rows, each of which makes the norm for itself; the last of them to be done chooses. The
// choice has the bits of kernels/router.h, the logits those of F32 weights.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ROUTE_ROWS_H_
#define STRATA_GENERATE_KERNELS_CUDA_ROUTE_ROWS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/routing_options.h"

namespace strata {

inline constexpr int kMaxRoutedExperts = 1024;
inline constexpr int kMaxRouterChoices = 32;

// RouterOptions with its vectors in device memory, and the router's matrix.
struct DeviceRouter {
  Gating gating = Gating::kSoftmax;
  int num_experts = 0;  // At most kMaxRoutedExperts.
  int num_chosen = 0;   // At most kMaxRouterChoices.
  bool normalize = false;
  float scale = 0.0f;
  int num_groups = 1;
  int num_groups_used = 1;
  const float* selection_bias = nullptr;  // Null: none.
  const float* weights = nullptr;         // [num_experts][size], f32.
  float logit_scale = 1.0f;               // Multiplies the products.
  const float* logit_bias = nullptr;      // Then added; null: none.
};

struct RouteTask {
  // The norm, whose `gather` is null and whose residual.sum is not x when there is a part: blocks
  // read x while others store the sum. `out.values` may be null.
  NormTask norm;
  DeviceRouter router;
  float* logits = nullptr;      // [rows][num_experts]
  uint32_t* tickets = nullptr;  // kMaxRows words, zero before the first step and after each.
  int32_t* experts = nullptr;   // [rows][num_chosen], best first.
  float* weights = nullptr;     // [rows][num_chosen]
  // Logits that are not finite. They count as 0, so that the choice is in range.
  FaultReport fault;
};

absl::Status RouteRows(const RouteTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ROUTE_ROWS_H_
