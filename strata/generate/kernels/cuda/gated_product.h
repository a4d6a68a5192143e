// The first half of a feed-forward: hidden = activation(gate x, up x), with its int8 form where the
// down matrix asks for one, in one kernel. For the chosen experts of each row, or for matrices that
// all rows share.
//
// Bits are those of the CPU's GatedProducts. An expert's weights are read once for all rows that
// chose it.
#ifndef STRATA_GENERATE_KERNELS_CUDA_GATED_PRODUCT_H_
#define STRATA_GENERATE_KERNELS_CUDA_GATED_PRODUCT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/product_plan.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/gated_activation.h"

namespace strata {

// Where hidden vectors go, one for each row, or for each entry of the routing.
struct HiddenRows {
  // Of size gate.rows. `values` is always written; a32 and a256 where they are not null. What the
  // down matrix meets must not be null.
  DeviceActivations vectors;
  // NumTickets words, zero before the first launch; a launch leaves them zero.
  uint32_t* tickets = nullptr;
};

// Of HiddenRows::tickets for so many vectors.
constexpr int64_t NumTickets(int64_t num_vectors, int64_t size) {
  return num_vectors * ((size + 31) / 32);
}

struct GatedFaults {
  FaultReport gate, up;  // Products that are not finite.
  FaultReport hidden;    // The activation's results.
};

struct GatedExperts {
  int rows = 1;
  DeviceActivations x;
  DeviceRouting routing;
  const DeviceExpert* experts = nullptr;  // [num_experts], in device memory.
  // Of one row, as ExpertSum's: what is in no slot is left out. Its address is one that can be read.
  const float* mailed = nullptr;
  DeviceExpertMatrix gate, up;  // Of one shape.
  GatedActivation activation = GatedActivation::kSilu;
  HiddenRows hidden;  // By entry.
  GatedFaults faults;
};

struct GatedDense {
  int rows = 1;
  DeviceActivations x;
  NormTask norm;          // As DenseProduct's.
  DeviceMatrix gate, up;  // Of one shape.
  GatedActivation activation = GatedActivation::kSilu;
  HiddenRows hidden;  // By row.
  GatedFaults faults;
};

// kUnimplemented for a type that is no weights, or when gate and up have different types; else an
// error of the launch.
absl::Status LaunchGatedExperts(const GatedExperts& product, const KernelStream& stream,
                                const ProductPlan& plan = {});
absl::Status LaunchGatedDense(const GatedDense& product, const KernelStream& stream,
                              const ProductPlan& plan = {});

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_GATED_PRODUCT_H_
