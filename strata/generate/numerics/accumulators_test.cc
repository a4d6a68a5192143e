#include "strata/generate/numerics/accumulators.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

std::vector<float> RandomValues(int n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

// The sum of accumulators j, j + width, j + 2 width ... in the order of the fold, from its end.
float FoldedBelow(const std::vector<float>& accumulators, int j, int width) {
  if (width == 128) return accumulators[j];
  return FoldedBelow(accumulators, j, 2 * width) + FoldedBelow(accumulators, j + width, 2 * width);
}

float DotByDefinition(const std::vector<float>& w, const std::vector<float>& x) {
  std::vector<float> accumulators(128, 0.0f);
  for (size_t i = 0; i < w.size(); ++i) {
    accumulators[i % 128] = std::fma(w[i], x[i], accumulators[i % 128]);
  }
  return FoldedBelow(accumulators, 0, 1);
}

TEST(AccumulatorsTest, SumInTheirOwnOrder) {
  for (int n : {0, 1, 127, 128, 129, 300, 1024, 2000}) {
    const std::vector<float> w = RandomValues(n, 1);
    const std::vector<float> x = RandomValues(n, 2);
    const std::vector<float> ones(n, 1.0f);
    EXPECT_EQ(f32::Bits(f32::Dot(w.data(), x.data(), n)), f32::Bits(DotByDefinition(w, x))) << n;
    EXPECT_EQ(f32::Bits(f32::SumOfSquares(x.data(), n)), f32::Bits(DotByDefinition(x, x))) << n;
    EXPECT_EQ(f32::Bits(f32::Sum(x.data(), n)), f32::Bits(DotByDefinition(x, ones))) << n;
  }
}

TEST(AccumulatorsTest, FoldTheUpperHalfOntoTheLower) {
  std::vector<float> x(128, 0.0f);
  x[0] = 1.0f;
  x[64] = 0x1p-24f;  // Meets x[0] first and is lost,
  x[32] = 0x1p-24f;  // then this one,
  x[1] = 0x1p-24f;   // and these two reach it as one that is not.
  x[65] = 0x1p-24f;
  EXPECT_EQ(f32::Sum(x.data(), 128), 1.0f + 0x1p-23f);
}

}  // namespace
}  // namespace strata
