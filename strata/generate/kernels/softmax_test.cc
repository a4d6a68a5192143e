#include "strata/generate/kernels/softmax.h"

#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(SoftmaxTest, SharesOneByExponentials) {
  std::vector<float> x;
  for (int i = 0; i < 300; ++i) x.push_back(std::sin(static_cast<float>(i)) * 9.0f + 1000.0f);
  double sum = 0.0;
  for (float value : x) sum += std::exp(value - 1000.0);
  std::vector<float> shares = x;
  Softmax(absl::MakeSpan(shares));
  for (int i = 0; i < 300; ++i) {
    EXPECT_NEAR(shares[i], std::exp(x[i] - 1000.0) / sum, 1e-6 * shares[i] + 1e-12) << i;
  }
}

TEST(SoftmaxTest, GivesTheSinkItsShare) {
  std::vector<float> x = {1.0f, 2.0f};
  Softmax(absl::MakeSpan(x), 3.0f);
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  EXPECT_NEAR(x[0], std::exp(1.0) / sum, 1e-7);
  EXPECT_NEAR(x[1], std::exp(2.0) / sum, 1e-7);
}

TEST(SoftmaxTest, GivesTheOnlyEntryAll) {
  std::vector<float> x = {-7.25f};
  Softmax(absl::MakeSpan(x));
  EXPECT_EQ(x[0], 1.0f);
}

TEST(SoftmaxTest, SurvivesASinkFarAboveAndFarBelow) {
  std::vector<float> x = {0.0f, 0.0f};
  Softmax(absl::MakeSpan(x), 500.0f);
  EXPECT_LT(x[0], 1e-30f);
  x = {0.0f, 0.0f};
  Softmax(absl::MakeSpan(x), -500.0f);
  EXPECT_EQ(x[0], 0.5f);
}

}  // namespace
}  // namespace strata
