#include "strata/generate/kernels/softmax.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/accumulators.h"
#include "strata/generate/kernels/numerics.h"

namespace strata {

void Softmax(absl::Span<float> x, std::optional<float> sink) {
  CHECK(!x.empty());
  float max = *std::max_element(x.begin(), x.end());
  if (sink.has_value()) max = std::max(max, *sink);
  for (float& value : x) value = f32::Exp(f32::Sub(value, max));
  float sum = f32::Sum(x.data(), static_cast<int64_t>(x.size()));
  if (sink.has_value()) sum = f32::Add(sum, f32::Exp(f32::Sub(*sink, max)));
  for (float& value : x) value = f32::Div(value, sum);
}

}  // namespace strata
