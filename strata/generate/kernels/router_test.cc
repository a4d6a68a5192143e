#include "strata/generate/kernels/router.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/numerics/accumulators.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

std::vector<int> ExpertsOf(const std::vector<ExpertChoice>& choices) {
  std::vector<int> experts;
  for (const ExpertChoice& choice : choices) experts.push_back(choice.expert);
  return experts;
}

std::vector<ExpertChoice> Choose(const RouterOptions& options, absl::Span<const float> logits) {
  std::vector<ExpertChoice> chosen(options.num_chosen);
  RouterScratch scratch;
  Router(options).Choose(logits, scratch, absl::MakeSpan(chosen));
  return chosen;
}

const std::vector<float> kLogits = {0.5f, 2.0f, -1.0f, 1.0f};

TEST(RouterTest, WeighsBySoftmaxOverAll) {
  const RouterOptions options = {.gating = Gating::kSoftmax, .num_experts = 4, .num_chosen = 2};
  const std::vector<ExpertChoice> chosen = Choose(options, kLogits);
  EXPECT_EQ(ExpertsOf(chosen), (std::vector<int>{1, 3}));
  const double sum = std::exp(0.5) + std::exp(2.0) + std::exp(-1.0) + std::exp(1.0);
  EXPECT_NEAR(chosen[0].weight, std::exp(2.0) / sum, 1e-7);
  EXPECT_NEAR(chosen[1].weight, std::exp(1.0) / sum, 1e-7);
}

TEST(RouterTest, NormalizesOverTheChosenThenScales) {
  const RouterOptions options = {.gating = Gating::kSigmoid,
                                 .num_experts = 4,
                                 .num_chosen = 2,
                                 .normalize = true,
                                 .scale = 2.5f};
  const std::vector<ExpertChoice> chosen = Choose(options, kLogits);
  const float a = f32::Sigmoid(2.0f);
  const float b = f32::Sigmoid(1.0f);
  EXPECT_EQ(chosen[0].weight, a / (a + b) * 2.5f);
  EXPECT_EQ(chosen[1].weight, b / (a + b) * 2.5f);
}

TEST(RouterTest, AddsWeightsInTheOrderOfRank) {
  const RouterOptions options = {
      .gating = Gating::kSigmoid, .num_experts = 3, .num_chosen = 3, .normalize = true};
  const std::vector<float> logits = {-17.5f, 3.0f, -17.4f};
  const float best = f32::Sigmoid(3.0f);
  // Each of the small ones is lost beside the best; together they would not be.
  const float sum = best + f32::Sigmoid(-17.4f) + f32::Sigmoid(-17.5f);
  ASSERT_NE(sum, f32::Sigmoid(-17.5f) + f32::Sigmoid(-17.4f) + best);
  EXPECT_EQ(Choose(options, logits)[0].weight, best / sum);
}

TEST(RouterTest, DoesNotDivideByLessThanTheSmallestNormalHalf) {
  const RouterOptions options = {
      .gating = Gating::kSigmoid, .num_experts = 2, .num_chosen = 1, .normalize = true};
  const std::vector<float> logits = {-20.0f, -21.0f};
  EXPECT_EQ(Choose(options, logits)[0].weight, f32::Sigmoid(-20.0f) / 0x1p-14f);
}

TEST(RouterTest, TakesAScaleOfZeroForNone) {
  const RouterOptions options = {
      .gating = Gating::kSigmoid, .num_experts = 4, .num_chosen = 1, .scale = 0.0f};
  EXPECT_EQ(Choose(options, kLogits)[0].weight, f32::Sigmoid(2.0f));
}

TEST(RouterTest, TakesTheSoftmaxOverTheChosenLogits) {
  const RouterOptions options = {
      .gating = Gating::kSoftmaxOfChosen, .num_experts = 4, .num_chosen = 3};
  const std::vector<ExpertChoice> chosen = Choose(options, kLogits);
  EXPECT_EQ(ExpertsOf(chosen), (std::vector<int>{1, 3, 0}));
  const float sum = 1.0f + f32::Exp(-1.0f) + f32::Exp(-1.5f);
  EXPECT_EQ(chosen[0].weight, 1.0f / sum);
  EXPECT_EQ(chosen[1].weight, f32::Exp(-1.0f) / sum);
  EXPECT_EQ(chosen[2].weight, f32::Exp(-1.5f) / sum);
}

TEST(RouterTest, KnowsTheRootOfSoftplus) {
  const RouterOptions options = {
      .gating = Gating::kSqrtSoftplus, .num_experts = 4, .num_chosen = 4};
  const std::vector<ExpertChoice> chosen = Choose(options, kLogits);
  EXPECT_EQ(ExpertsOf(chosen), (std::vector<int>{1, 3, 0, 2}));
  EXPECT_NEAR(chosen[0].weight, std::sqrt(std::log1p(std::exp(2.0))), 1e-6);
  EXPECT_NEAR(chosen[3].weight, std::sqrt(std::log1p(std::exp(-1.0))), 1e-6);
}

TEST(RouterTest, GivesEqualScoresToTheLowerIndex) {
  const std::vector<float> logits = {1.0f, 2.0f, 1.0f, 2.0f, 2.0f, 1.0f};
  const RouterOptions options = {.gating = Gating::kSigmoid, .num_experts = 6, .num_chosen = 4};
  EXPECT_EQ(ExpertsOf(Choose(options, logits)), (std::vector<int>{1, 3, 4, 0}));
}

TEST(RouterTest, LetsTheBiasChooseButNotWeigh) {
  const RouterOptions options = {.gating = Gating::kSigmoid,
                                 .num_experts = 4,
                                 .num_chosen = 2,
                                 .selection_bias = {0.0f, 0.0f, 3.0f, 0.0f}};
  const std::vector<ExpertChoice> chosen = Choose(options, kLogits);
  EXPECT_EQ(ExpertsOf(chosen), (std::vector<int>{2, 1}));
  EXPECT_EQ(chosen[0].weight, f32::Sigmoid(-1.0f));
}

TEST(RouterTest, ChoosesWithinTheGroupsWhoseTwoBestAreGreatest) {
  // Two best of each group: 5 + 0, 3 + 3, 4 + 1.
  const std::vector<float> logits = {5.0f, 0.0f, -9.0f, 3.0f, 3.0f, 2.9f, 4.0f, 1.0f, 0.5f};
  RouterOptions options = {
      .gating = Gating::kSoftmaxOfChosen, .num_experts = 9, .num_chosen = 3, .num_groups = 3};
  EXPECT_EQ(ExpertsOf(Choose(options, logits)), (std::vector<int>{3, 4, 5}));
  options.num_groups_used = 2;  // The other two are equal: the first of them.
  EXPECT_EQ(ExpertsOf(Choose(options, logits)), (std::vector<int>{0, 3, 4}));
  options.selection_bias = {0, 0, 0, 0, 0, 0, 1.0f, 0, 0};
  EXPECT_EQ(ExpertsOf(Choose(options, logits)), (std::vector<int>{6, 3, 4}));
}

}  // namespace
}  // namespace strata
