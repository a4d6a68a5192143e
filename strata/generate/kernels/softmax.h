// Softmax by the exact maximum, f32::Exp, the 128 accumulators and a division per value.
#ifndef STRATA_GENERATE_KERNELS_SOFTMAX_H_
#define STRATA_GENERATE_KERNELS_SOFTMAX_H_

#include <optional>

#include "absl/types/span.h"

namespace strata {

// In place. `sink` is one more logit that takes its share of the whole and gives no value (the
// attention sink of gpt-oss); its exponential is added to the sum last. Masked entries must be left
// out: f32::Exp is never zero. x is not empty, its values finite.
void Softmax(absl::Span<float> x, std::optional<float> sink = std::nullopt);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_SOFTMAX_H_
