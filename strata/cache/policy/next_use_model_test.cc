#include "strata/cache/policy/next_use_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/fast_math.h"

namespace strata {
namespace {

ExpertGeometry Geometry(int num_layers, int num_experts) {
  std::vector<ExpertGeometry::Layer> layers;
  for (int i = 0; i < num_layers; ++i) layers.push_back({.block = i, .blob_bytes = 1});
  return ExpertGeometry(layers, num_experts, 1);
}

std::vector<ExpertUse> UsesOf(const std::vector<int>& numbers) {
  std::vector<ExpertUse> uses;
  for (const int number : numbers) uses.push_back({number, 1, 1});
  return uses;
}

TEST(FastMathTest, StaysNearTheLibrary) {
  for (float x = 1e-6f; x < 1e6f; x *= 1.01f) EXPECT_NEAR(FastLog2(x), std::log2(x), 1e-3) << x;
  for (float x = -60; x < 60; x += 0.037f) {
    EXPECT_NEAR(FastExp2(x) / std::exp2(x), 1, 1e-3) << x;
    EXPECT_NEAR(FastSigmoid(x), 1 / (1 + std::exp(-x)), 1e-3) << x;
  }
}

TEST(NextUseModelTest, LearnsWhatFollowsWhat) {
  // 3 is always followed by 0, and 0 never by itself: right after a use of its own 0 is less likely
  // than two steps later, whatever its counts say.
  NextUseModel model(Geometry(1, 8), {});
  const std::vector<int> cycle = {0, 1, 3, 0, 2, 3};
  for (int step = 0; step < 601; ++step) model.AddStep(UsesOf({cycle[step % 6]}));
  const float after_itself = model.scores()[0];
  model.AddStep(UsesOf({1}));
  model.AddStep(UsesOf({3}));
  EXPECT_GT(model.scores()[0], after_itself);
}

TEST(NextUseModelTest, AUseMakesNoExpertColder) {
  NextUseModel model(Geometry(2, 8), {});
  for (int step = 0; step < 200; ++step) {
    const int used = step * 7 % 5;
    const float before = model.scores_if_used()[used];
    EXPECT_GE(before, model.scores()[used]) << step;
    model.AddStep(UsesOf({used, 8 + step % 3}));
  }
}

TEST(NextUseModelTest, BeginsWithTheProfile) {
  const NextUseModel model(Geometry(1, 4), std::vector<float>{0.1f, 0.6f, 0.3f, 0});
  EXPECT_GT(model.scores()[1], model.scores()[2]);
  EXPECT_GT(model.scores()[2], model.scores()[0]);
  EXPECT_GT(model.scores()[0], model.scores()[3]);
}

TEST(NextUseModelTest, TakesRejectedTokensForNoUses) {
  NextUseModel model(Geometry(1, 4), {}), other(Geometry(1, 4), {});
  model.AddStep(std::vector<ExpertUse>{{1, 1, 1}, {2, 0, 3}});
  other.AddStep(UsesOf({1}));
  EXPECT_TRUE(std::equal(model.scores().begin(), model.scores().end(), other.scores().begin()));
}

TEST(NextUseModelTest, KeepsItsScoresFinite) {
  NextUseModel model(Geometry(2, 4), {});
  for (int step = 0; step < 50000; ++step) model.AddStep(UsesOf({step % 2, 4 + step % 3}));
  for (const float score : model.scores()) EXPECT_TRUE(std::isfinite(score));
}

}  // namespace
}  // namespace strata
