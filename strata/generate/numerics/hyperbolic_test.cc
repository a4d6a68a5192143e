#include "strata/generate/numerics/hyperbolic.h"

#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

TEST(HyperbolicTest, ComputesTanhWithinATinyDistance) {
  for (uint32_t bits = f32::Bits(0x1p-30f); bits <= f32::Bits(100.0f); bits += 4001) {
    const float x = f32::FromBits(bits);
    ASSERT_NEAR(f32::Tanh(x), std::tanh(static_cast<double>(x)), 0x1p-23) << x;
    ASSERT_EQ(f32::Tanh(-x), -f32::Tanh(x));
  }
  EXPECT_EQ(f32::Tanh(0.0f), 0.0f);
}

TEST(HyperbolicTest, ComputesGelu) {
  for (float x = -12.0f; x <= 12.0f; x += 0.03125f) {
    const double cubic = std::sqrt(2.0 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
    ASSERT_NEAR(f32::Gelu(x), 0.5 * x * (1.0 + std::tanh(cubic)), 5e-7 * (1 + std::abs(x))) << x;
  }
  EXPECT_EQ(f32::Gelu(0.0f), 0.0f);
  EXPECT_EQ(f32::Gelu(0x1p+80f), 0x1p+80f);
}

}  // namespace
}  // namespace strata
