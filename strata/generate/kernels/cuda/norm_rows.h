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

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_task.h"

namespace strata {

// residual.sum may be x.
absl::Status NormRows(const NormTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_NORM_ROWS_H_
