// The convolution of a mixer over the last few tokens, each channel on its own.
#ifndef STRATA_GENERATE_KERNELS_CAUSAL_CONVOLUTION_H_
#define STRATA_GENERATE_KERNELS_CAUSAL_CONVOLUTION_H_

#include "absl/types/span.h"

namespace strata {

// y[c] = the chain of fma(weights[tap * y.size() + c], inputs[tap][c], .) from +0, taps ascending.
// A null input is one of zeros, which changes no bit.
void Convolve(absl::Span<const float> weights, absl::Span<const float* const> inputs,
              absl::Span<float> y);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CAUSAL_CONVOLUTION_H_
