#include "strata/generate/kernels/causal_convolution.h"

#include <algorithm>
#include <cstddef>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/run_on_isa.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

void Convolve(absl::Span<const float> weights, absl::Span<const float* const> inputs,
              absl::Span<float> y) {
  const size_t n = y.size();
  CHECK_EQ(weights.size(), inputs.size() * n);
  std::fill(y.begin(), y.end(), 0.0f);
  float* const to = y.data();
  for (size_t tap = 0; tap < inputs.size(); ++tap) {
    const float* const x = inputs[tap];
    if (x == nullptr) continue;
    const float* const w = weights.data() + tap * n;
    RunOnCurrentIsa([=]() __attribute__((always_inline)) {
      for (size_t c = 0; c < n; ++c) to[c] = f32::Fma(w[c], x[c], to[c]);
    });
  }
}

}  // namespace strata
