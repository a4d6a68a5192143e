#include "strata/generate/kernels/softmax.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "strata/generate/kernels/run_on_isa.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

void Softmax(absl::Span<float> x, std::optional<float> sink) {
  float max = Max(x);
  if (sink.has_value()) max = std::max(max, *sink);
  ExpOfDifference(max, x);
  float sum = Sum(x);
  if (sink.has_value()) sum = f32::Add(sum, f32::Exp(f32::Sub(*sink, max)));
  const size_t n = x.size();
  float* const values = x.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < n; ++i) values[i] = f32::Div(values[i], sum);
  });
}

}  // namespace strata
