#include "strata/generate/kernels/rms_norm.h"

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/accumulators.h"
#include "strata/generate/kernels/numerics.h"

namespace strata {

void RmsNorm(absl::Span<const float> x, absl::Span<const float> weight, float epsilon,
             absl::Span<float> out) {
  CHECK_EQ(out.size(), x.size());
  CHECK(weight.empty() || weight.size() == x.size()) << weight.size() << " for " << x.size();
  const auto n = static_cast<int32_t>(x.size());
  const float mean = f32::Div(f32::SumOfSquares(x.data(), n), f32::FromInt(n));
  const float inverse = f32::Div(1.0f, f32::Sqrt(f32::Add(mean, epsilon)));
  for (size_t i = 0; i < x.size(); ++i) {
    const float normed = f32::Mul(inverse, x[i]);
    out[i] = weight.empty() ? normed : f32::Mul(normed, weight[i]);
  }
}

}  // namespace strata
