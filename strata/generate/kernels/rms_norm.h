// RMS normalisation: x / sqrt(mean(x^2) + epsilon), times a weight per value.
#ifndef STRATA_GENERATE_KERNELS_RMS_NORM_H_
#define STRATA_GENERATE_KERNELS_RMS_NORM_H_

#include "absl/types/span.h"

namespace strata {

// out may be x. All of one size; an empty weight stands for ones.
void RmsNorm(absl::Span<const float> x, absl::Span<const float> weight, float epsilon,
             absl::Span<float> out);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_RMS_NORM_H_
