// The activation between the two halves of a feed-forward block.
#ifndef STRATA_GENERATE_KERNELS_GATED_ACTIVATION_H_
#define STRATA_GENERATE_KERNELS_GATED_ACTIVATION_H_

#include "absl/types/span.h"
#include "strata/generate/model/gated_activation.h"

namespace strata {

// out[i] = activation(gate[i], up[i]); out may be either input. All of one size.
void ApplyGate(GatedActivation activation, absl::Span<const float> gate, absl::Span<const float> up,
               absl::Span<float> out);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_GATED_ACTIVATION_H_
