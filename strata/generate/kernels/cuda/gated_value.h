// One value of the activation between the halves of a feed-forward, for host and device: the bits
// of kernels/gated_activation.h.
#ifndef STRATA_GENERATE_KERNELS_CUDA_GATED_VALUE_H_
#define STRATA_GENERATE_KERNELS_CUDA_GATED_VALUE_H_

#include "strata/generate/model/gated_activation.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

STRATA_NUMERIC float GatedValue(GatedActivation activation, float gate, float up) {
  if (activation == GatedActivation::kSilu) return f32::Mul(f32::Silu(gate), up);
  constexpr float kLimit = 7.0f;
  constexpr float kAlpha = 1.702f;
  const float g = gate > kLimit ? kLimit : gate;
  const float u = up > kLimit ? kLimit : up < -kLimit ? -kLimit : up;
  return f32::Mul(f32::Mul(g, f32::Sigmoid(f32::Mul(kAlpha, g))), f32::Add(u, 1.0f));
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_GATED_VALUE_H_
