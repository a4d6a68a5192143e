#include "strata/generate/kernels/gated_activation.h"

#include <cstddef>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/numerics.h"

namespace strata {
namespace {

constexpr float kSwigluLimit = 7.0f;
constexpr float kSwigluAlpha = 1.702f;

float ClampedSwiglu(float gate, float up) {
  const float g = gate > kSwigluLimit ? kSwigluLimit : gate;
  const float u = up > kSwigluLimit ? kSwigluLimit : up < -kSwigluLimit ? -kSwigluLimit : up;
  const float gated = f32::Mul(g, f32::Sigmoid(f32::Mul(kSwigluAlpha, g)));
  return f32::Mul(gated, f32::Add(u, 1.0f));
}

}  // namespace

void ApplyGate(GatedActivation activation, absl::Span<const float> gate, absl::Span<const float> up,
               absl::Span<float> out) {
  CHECK_EQ(gate.size(), out.size());
  CHECK_EQ(up.size(), out.size());
  switch (activation) {
    case GatedActivation::kSilu:
      for (size_t i = 0; i < out.size(); ++i) out[i] = f32::Mul(f32::Silu(gate[i]), up[i]);
      return;
    case GatedActivation::kClampedSwiglu:
      for (size_t i = 0; i < out.size(); ++i) out[i] = ClampedSwiglu(gate[i], up[i]);
      return;
  }
  LOG(FATAL) << "no such activation: " << static_cast<int>(activation);
}

}  // namespace strata
