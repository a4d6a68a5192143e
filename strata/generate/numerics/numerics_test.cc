#include "strata/generate/numerics/numerics.h"

#include <xmmintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "gtest/gtest.h"

namespace strata {
namespace {

// How far `found` is from `exact`, in the distance of floats around `exact`.
double UlpsOff(float found, double exact) {
  const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::abs(static_cast<double>(found) - exact) / ulp;
}

TEST(NumericsTest, RunsInTheDefaultFloatingPointEnvironment) {
  constexpr unsigned kStickyFlags = 0x3f;
  EXPECT_EQ(_mm_getcsr() & ~kStickyFlags, 0x1f80u);
}

TEST(NumericsTest, KeepsAMultiplyAndAnAddApart) {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, whose last bit only a fused operation sees.
  const volatile float a = 1.0f + 0x1p-12f;
  const volatile float minus_rounded = -(1.0f + 0x1p-11f);
  EXPECT_EQ(f32::Add(f32::Mul(a, a), minus_rounded), 0.0f);
  EXPECT_EQ(f32::Fma(a, a, minus_rounded), 0x1p-24f);
}

TEST(NumericsTest, KeepsSubnormals) {
  const volatile float smallest_normal = 0x1p-126f;
  EXPECT_EQ(f32::Bits(f32::Mul(smallest_normal, 0.5f)), 0x00400000u);
}

TEST(NumericsTest, OrdersMagnitudesAndTellsInfinityAndNan) {
  EXPECT_EQ(f32::MagnitudeBits(-2.5f), f32::MagnitudeBits(2.5f));
  EXPECT_LT(f32::MagnitudeBits(2.5f), f32::MagnitudeBits(-3.0f));
  EXPECT_TRUE(f32::IsFinite(-0x1.fffffep127f));
  EXPECT_FALSE(f32::IsFinite(-INFINITY));
  EXPECT_FALSE(f32::IsFinite(std::nanf("")));
}

TEST(NumericsTest, RoundsToIntegersWithTiesToEven) {
  EXPECT_EQ(f32::RoundToInt(0.5f), 0);
  EXPECT_EQ(f32::RoundToInt(1.5f), 2);
  EXPECT_EQ(f32::RoundToInt(-2.5f), -2);
  EXPECT_EQ(f32::RoundToInt(-3.5f), -4);
  EXPECT_EQ(f32::RoundToInt(126.50001f), 127);
  EXPECT_EQ(f32::RoundToInt(-0x1p22f), -(1 << 22));
}

// A half by its definition.
double ValueOfHalf(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(NumericsTest, ReadsEveryFiniteHalf) {
  for (int half = 0; half < 0x10000; ++half) {
    if ((half & 0x7c00) == 0x7c00) continue;
    const auto code = static_cast<uint16_t>(half);
    ASSERT_EQ(f32::FromF16(code), ValueOfHalf(code)) << half;
    ASSERT_EQ(std::signbit(f32::FromF16(code)), (half & 0x8000) != 0) << half;
    ASSERT_EQ(f32::ToF16(f32::FromF16(code)), code);
  }
  EXPECT_EQ(f32::FromF16(0x7c00), INFINITY);
  EXPECT_EQ(f32::FromF16(0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(f32::FromF16(0x7e00)));
}

TEST(NumericsTest, RoundsToTheNearestHalfAroundEveryMidpoint) {
  for (int half = 0; half < 0x7c00; ++half) {
    const auto below = static_cast<uint16_t>(half);
    const auto above = static_cast<uint16_t>(half + 1);  // Infinity after the largest.
    const double gap = half < 0x7bff ? ValueOfHalf(above) - ValueOfHalf(below) : 32.0;
    const auto middle = static_cast<float>(ValueOfHalf(below) + gap / 2);
    ASSERT_EQ(f32::ToF16(middle), half % 2 == 0 ? below : above) << half;
    ASSERT_EQ(f32::ToF16(std::nextafterf(middle, 0.0f)), below) << half;
    ASSERT_EQ(f32::ToF16(-std::nextafterf(middle, INFINITY)), above | 0x8000) << half;
  }
  EXPECT_EQ(f32::ToF16(-1e30f), 0xfc00);
  EXPECT_EQ(f32::ToF16(INFINITY), 0x7c00);
  EXPECT_GT(f32::ToF16(std::nanf("")) & 0x7fff, 0x7c00);
}

TEST(NumericsTest, ConvertsBfloat16) {
  EXPECT_EQ(f32::FromBf16(0xc049), -3.140625f);
  EXPECT_EQ(f32::ToBf16(-3.140625f), 0xc049);
  EXPECT_EQ(f32::ToBf16(f32::FromBits(0x40498000u)), 0x404a);  // A tie, to even.
  EXPECT_EQ(f32::ToBf16(f32::FromBits(0x40488000u)), 0x4048);
  EXPECT_EQ(f32::ToBf16(f32::FromBits(0x40488001u)), 0x4049);
  EXPECT_EQ(f32::ToBf16(0x1.fffffep127f), 0x7f80);
  EXPECT_GT(f32::ToBf16(f32::FromBits(0x7f800001u)) & 0x7fff, 0x7f80);
}

TEST(NumericsTest, ComputesExpWithinAnUlp) {
  double worst = 0.0;
  // Every 509th float on either side of zero; all of them give 0.9387, the error at the last line.
  for (uint32_t bits = f32::Bits(0x1p-30f); bits <= f32::Bits(88.0f); bits += 509) {
    const float x = f32::FromBits(bits);
    worst = std::max(worst, UlpsOff(f32::Exp(x), std::exp(static_cast<double>(x))));
    if (x > 87.0f) continue;
    worst = std::max(worst, UlpsOff(f32::Exp(-x), std::exp(-static_cast<double>(x))));
  }
  worst = std::max(worst, UlpsOff(f32::Exp(0x1.ab05d2p+4f), std::exp(0x1.ab05d2p+4)));
  EXPECT_LE(worst, 0.94);
  EXPECT_GT(worst, 0.93);
}

TEST(NumericsTest, ClampsExp) {
  EXPECT_EQ(f32::Exp(0.0f), 1.0f);
  EXPECT_EQ(f32::Exp(-1e9f), f32::Exp(-87.0f));
  EXPECT_EQ(f32::Exp(INFINITY), f32::Exp(88.0f));
  EXPECT_TRUE(f32::IsFinite(f32::Exp(88.0f)));
}

TEST(NumericsTest, BuildsSigmoidAndSiluFromExpAndOneDivision) {
  for (float x : {-90.0f, -3.7f, -0.1f, 0.0f, 0.3f, 5.0f, 90.0f}) {
    const float one_and_exp = 1.0f + f32::Exp(-x);
    EXPECT_EQ(f32::Sigmoid(x), 1.0f / one_and_exp);
    EXPECT_EQ(f32::Silu(x), x / one_and_exp);
    EXPECT_NEAR(f32::Sigmoid(x), 1.0 / (1.0 + std::exp(-static_cast<double>(x))), 1e-7);
  }
}

TEST(NumericsTest, ComputesSoftplusWithinAFewUlps) {
  double worst = 0.0;
  for (uint32_t bits = f32::Bits(0x1p-20f); bits <= f32::Bits(86.0f); bits += 4001) {
    const float x = f32::FromBits(bits);
    worst = std::max(worst, UlpsOff(f32::Softplus(x), std::log1p(std::exp(1.0 * x))));
    worst = std::max(worst, UlpsOff(f32::Softplus(-x), std::log1p(std::exp(-1.0 * x))));
  }
  EXPECT_LE(worst, 4.0);
}

}  // namespace
}  // namespace strata
