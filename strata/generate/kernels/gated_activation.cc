#include "strata/generate/kernels/gated_activation.h"

#include <cstddef>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/run_on_isa.h"
#include "strata/generate/numerics/hyperbolic.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr float kSwigluLimit = 7.0f;
constexpr float kSwigluAlpha = 1.702f;

STRATA_NUMERIC float ClampedSwiglu(float gate, float up) {
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
  const size_t n = out.size();
  const float* const g = gate.data();
  const float* const u = up.data();
  float* const to = out.data();
  switch (activation) {
    case GatedActivation::kSilu:
      return RunOnCurrentIsa([=]() __attribute__((always_inline)) {
        for (size_t i = 0; i < n; ++i) to[i] = f32::Mul(f32::Silu(g[i]), u[i]);
      });
    case GatedActivation::kSigmoid:
      return RunOnCurrentIsa([=]() __attribute__((always_inline)) {
        for (size_t i = 0; i < n; ++i) to[i] = f32::Mul(f32::Sigmoid(g[i]), u[i]);
      });
    case GatedActivation::kGelu:
      return RunOnCurrentIsa([=]() __attribute__((always_inline)) {
        for (size_t i = 0; i < n; ++i) to[i] = f32::Mul(f32::Gelu(g[i]), u[i]);
      });
    case GatedActivation::kClampedSwiglu:
      return RunOnCurrentIsa([=]() __attribute__((always_inline)) {
        for (size_t i = 0; i < n; ++i) to[i] = ClampedSwiglu(g[i], u[i]);
      });
  }
  LOG(FATAL) << "no such activation: " << static_cast<int>(activation);
}

}  // namespace strata
