#include "strata/generate/sampling/sampler.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

TokenId SampleOnce(const SamplerOptions& options, const std::vector<float>& logits,
                   const std::vector<TokenId>& context = {}) {
  return Sampler(options).Sample(logits, context).value();
}

// How often each token is drawn at positions 0 to `draws`.
std::map<TokenId, int> Counts(const SamplerOptions& options, const std::vector<float>& logits,
                              int draws = 20000) {
  Sampler sampler(options);
  std::map<TokenId, int> counts;
  std::vector<TokenId> context;
  for (int i = 0; i < draws; ++i) {
    ++counts[sampler.Sample(logits, context).value()];
    context.push_back(0);
  }
  return counts;
}

std::vector<TokenId> Drawn(const SamplerOptions& options, const std::vector<float>& logits) {
  std::vector<TokenId> ids;
  for (const auto& [id, count] : Counts(options, logits, 5000)) ids.push_back(id);
  return ids;
}

TEST(SamplerTest, TemperatureZeroTakesTheMostLikelyAndTheLowerOfEqualIds) {
  EXPECT_EQ(SampleOnce({}, {0.0f, 2.0f, 1.0f}), 1);
  EXPECT_EQ(SampleOnce({}, {0.0f, 2.0f, 2.0f, 2.0f}), 1);
  EXPECT_EQ(SampleOnce({}, {-0.0f, 0.0f}), 0);
}

TEST(SamplerTest, DrawsByTheSoftmaxAtTheTemperature) {
  const std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f)};
  std::map<TokenId, int> counts = Counts({.temperature = 1.0f}, logits);
  EXPECT_NEAR(counts[0], 20000 / 8, 250);
  EXPECT_NEAR(counts[1], 20000 * 2 / 8, 250);
  EXPECT_NEAR(counts[2], 20000 * 5 / 8, 250);
  counts = Counts({.temperature = 0.5f}, logits);  // Squares the odds.
  EXPECT_NEAR(counts[0], 20000 / 30, 150);
  EXPECT_NEAR(counts[1], 20000 * 4 / 30, 250);
}

TEST(SamplerTest, TopKKeepsTheBestAndPrefersLowerIdsAmongEquals) {
  EXPECT_THAT(Drawn({.temperature = 1.0f, .top_k = 2}, {1.0f, 1.5f, 1.0f, 1.0f}),
              ElementsAre(0, 1));
  EXPECT_THAT(Drawn({.temperature = 1.0f, .top_k = 9}, {1.0f, 1.5f}), ElementsAre(0, 1));
}

TEST(SamplerTest, TopPKeepsTheFewestThatReachIt) {
  const std::vector<float> logits = {std::log(0.2f), std::log(0.5f), std::log(0.3f)};
  EXPECT_THAT(Drawn({.temperature = 1.0f, .top_p = 0.45f}, logits), ElementsAre(1));
  EXPECT_THAT(Drawn({.temperature = 1.0f, .top_p = 0.75f}, logits), ElementsAre(1, 2));
  EXPECT_THAT(Drawn({.temperature = 1.0f, .top_p = 0.85f}, logits), ElementsAre(0, 1, 2));
  EXPECT_THAT(Drawn({.temperature = 1.0f, .top_p = 1e-9f}, logits), ElementsAre(1));
}

TEST(SamplerTest, MinPKeepsThoseNearTheBest) {
  const std::vector<float> logits = {std::log(0.2f), std::log(0.5f), std::log(0.3f)};
  EXPECT_THAT(Drawn({.temperature = 1.0f, .min_p = 0.5f}, logits), ElementsAre(1, 2));
  EXPECT_THAT(Drawn({.temperature = 1.0f, .min_p = 1.0f}, logits), ElementsAre(1));
}

TEST(SamplerTest, FiltersShareOutWhatTheyLeave) {
  const std::vector<float> logits = {std::log(0.2f), std::log(0.5f), std::log(0.3f)};
  std::map<TokenId, int> counts = Counts({.temperature = 1.0f, .top_p = 0.75f}, logits);
  EXPECT_NEAR(counts[1], 20000 * 5 / 8, 250);
}

TEST(SamplerTest, RepetitionPenaltyLooksBackOnItsWindow) {
  const std::vector<float> logits = {3.0f, 2.0f, -1.0f};
  const SamplerOptions options = {.repetition_penalty = 2.0f, .repetition_window = 2};
  EXPECT_EQ(SampleOnce(options, logits, {0}), 1);
  EXPECT_EQ(SampleOnce(options, logits, {0, 1}), 0) << "1.5 and 1";
  EXPECT_EQ(SampleOnce(options, logits, {0, 1, 1}), 0) << "token 0 is out of the window";
  EXPECT_EQ(SampleOnce({.repetition_penalty = 2.0f, .repetition_window = 0}, {-1.0f, -1.5f}, {0}),
            1)
      << "negative logits move away from zero";
}

TEST(SamplerTest, ADrawDependsOnSeedAndPositionNotOnHistory) {
  const std::vector<float> logits(100, 0.0f);
  const SamplerOptions options = {.temperature = 1.0f, .seed = 5};
  const std::vector<TokenId> context = {1, 2, 3};
  Sampler used(options);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(used.Sample(logits, {}).ok());
  EXPECT_EQ(used.Sample(logits, context).value(), SampleOnce(options, logits, context));
  EXPECT_GT(Counts(options, logits, 2000).size(), 95);
}

TEST(SamplerTest, RefusesLogitsThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const absl::StatusOr<TokenId> token = Sampler({}).Sample({0.0f, bad}, {});
    EXPECT_EQ(ErrorKind(token.status()), "nan_logits") << token.status();
  }
}

}  // namespace
}  // namespace strata
