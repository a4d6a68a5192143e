#include "strata/generate/kernels/rms_norm.h"

#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(RmsNormTest, DividesByTheRootOfTheMeanSquare) {
  const std::vector<float> x = {3.0f, -4.0f, 0.0f, 12.0f};
  const std::vector<float> weight = {1.0f, 0.5f, 2.0f, -1.0f};
  std::vector<float> out(4);
  RmsNorm(x, weight, 0.25f, absl::MakeSpan(out));
  const double root = std::sqrt(169.0 / 4 + 0.25);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(out[i], x[i] / root * weight[i], 1e-6);
}

TEST(RmsNormTest, RoundsAfterEachStep) {
  const std::vector<float> x = {0.1f, 0.7f, -1.3f};
  const std::vector<float> weight = {0.3f, 1.7f, 0.9f};
  std::vector<float> out(3);
  RmsNorm(x, weight, 1e-5f, absl::MakeSpan(out));
  // Each value has an accumulator of its own; 0 and 2 meet before 1.
  const float squares = (x[0] * x[0] + x[2] * x[2]) + x[1] * x[1];
  const float inverse = 1.0f / std::sqrt(squares / 3.0f + 1e-5f);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(out[i], inverse * x[i] * weight[i]);
}

TEST(RmsNormTest, TakesNoWeightForOnesAndWorksInPlace) {
  std::vector<float> x = {2.0f, -2.0f};
  RmsNorm(x, {}, 0.0f, absl::MakeSpan(x));
  EXPECT_EQ(x, (std::vector<float>{1.0f, -1.0f}));
}

}  // namespace
}  // namespace strata
