#include "strata/generate/kernels/rms_norm.h"

#include <cstdint>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/run_on_isa.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

void RmsNorm(absl::Span<const float> x, absl::Span<const float> weight, float epsilon,
             absl::Span<float> out) {
  CHECK_EQ(out.size(), x.size());
  CHECK(weight.empty() || weight.size() == x.size()) << weight.size() << " for " << x.size();
  const auto n = static_cast<int32_t>(x.size());
  const float mean = f32::Div(Dot(x, x), f32::FromInt(n));
  const float inverse = f32::Div(1.0f, f32::Sqrt(f32::Add(mean, epsilon)));
  const float* const from = x.data();
  const float* const weights = weight.empty() ? nullptr : weight.data();
  float* const to = out.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (int i = 0; i < n; ++i) to[i] = f32::Mul(inverse, from[i]);
    if (weights == nullptr) return;
    for (int i = 0; i < n; ++i) to[i] = f32::Mul(to[i], weights[i]);
  });
}

}  // namespace strata
