#include "strata/generate/kernels/gated_activation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

const std::vector<float> kGates = {-50.0f, -3.0f, -0.25f, 0.0f, 0.5f, 2.0f, 6.9f, 7.5f, 40.0f};
const std::vector<float> kUps = {1.0f, -9.0f, 7.5f, 2.0f, -6.5f, 0.0f, -1.0f, 3.0f, -70.0f};

TEST(GatedActivationTest, MultipliesUpBySilu) {
  std::vector<float> out(kGates.size());
  ApplyGate(GatedActivation::kSilu, kGates, kUps, absl::MakeSpan(out));
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], f32::Silu(kGates[i]) * kUps[i]);
    const double exact = kGates[i] / (1.0 + std::exp(-1.0 * kGates[i])) * kUps[i];
    EXPECT_NEAR(out[i], exact, 1e-6 * std::abs(exact));
  }
}

TEST(GatedActivationTest, MultipliesUpByGelu) {
  std::vector<float> out(kGates.size());
  ApplyGate(GatedActivation::kGelu, kGates, kUps, absl::MakeSpan(out));
  for (size_t i = 0; i < out.size(); ++i) {
    const double g = kGates[i];
    const double angle = std::sqrt(2.0 / 3.14159265358979324) * (g + 0.044715 * g * g * g);
    // As 1 + tanh, without the digits that it loses where tanh is nearly -1.
    const double exact = g / (1.0 + std::exp(-2.0 * angle)) * kUps[i];
    EXPECT_NEAR(out[i], exact, 1e-5 * std::abs(exact) + 1e-30) << g;
  }
}

TEST(GatedActivationTest, ClampsTheSwigluOfGptOss) {
  std::vector<float> out = kUps;
  ApplyGate(GatedActivation::kClampedSwiglu, kGates, out, absl::MakeSpan(out));
  for (size_t i = 0; i < out.size(); ++i) {
    const double g = std::min(kGates[i], 7.0f);
    const double u = std::clamp(kUps[i], -7.0f, 7.0f);
    const double exact = g / (1.0 + std::exp(-1.702 * g)) * (u + 1.0);
    EXPECT_NEAR(out[i], exact, 1e-5 * std::abs(exact)) << kGates[i] << ", " << kUps[i];
  }
}

}  // namespace
}  // namespace strata
