// The residual rule between two parts of a model and the norm before the next one, in one kernel:
//
//     sum = x + scale * norm_after(part)
//     out = sum / sqrt(mean(sum^2) + epsilon), times a weight per value
//
// with the bits of kernels/rms_norm.h and the order of model_graph.h's Residual, `out` in the forms
// that the next matrices want. A value of `out` that is not finite is reported and becomes a zero
// block.
#ifndef STRATA_GENERATE_KERNELS_CUDA_NORM_ROWS_H_
#define STRATA_GENERATE_KERNELS_CUDA_NORM_ROWS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

// What the part before adds to the state.
struct DeviceResidual {
  const float* part = nullptr;        // [rows][size]; null: nothing is added.
  const float* norm_after = nullptr;  // A weight per value; null: no norm.
  float scale = 1.0f;
  float* sum = nullptr;  // [rows][size]: the new state.
};

struct NormTask {
  int num_rows = 0;
  const float* x = nullptr;  // [rows][size]
  DeviceResidual residual;
  const float* weight = nullptr;  // Null: ones.
  float epsilon = 0.0f;
  DeviceActivations out;  // Of any size that is a multiple of 4.
  // Not null: row i of `out` is of row wanted[i], and those from num_wanted on are zero. The sum is
  // then not stored.
  const DeviceStep* gather = nullptr;
  FaultReport fault;
};

// residual.sum may be x.
absl::Status NormRows(const NormTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_NORM_ROWS_H_
