// What a norm of a step's rows is given (norm_rows.h), by itself or as the beginning of another kernel.
#ifndef STRATA_GENERATE_KERNELS_CUDA_NORM_TASK_H_
#define STRATA_GENERATE_KERNELS_CUDA_NORM_TASK_H_

#include "strata/generate/kernels/cuda/device_rows.h"
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

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_NORM_TASK_H_
