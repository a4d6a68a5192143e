#include "strata/cache/profile/expert_profile.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/core/error.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ExpertProfile Merged(ExpertProfile to, const ExpertProfile& from) {
  const absl::Status status = to.Merge(from);
  EXPECT_TRUE(status.ok()) << status;
  return to;
}

TEST(ExpertProfileTest, CountsTheAcceptedTokensOfAStep) {
  ExpertProfile profile(TestIdentity(/*num_layers=*/2, /*num_experts=*/4, /*num_used=*/2));
  profile.Count({.kind = RoutedStep::Kind::kDecode,
                 .num_tokens = 3,
                 .num_accepted = 2,
                 .experts = {0, 1, 1, 2, 3, 3,     // Layer by layer, token by token,
                             3, 0, 3, 2, 1, 1}});  // in rank order.
  EXPECT_THAT(profile.counts(), ElementsAre(1, 2, 1, 0, 1, 0, 1, 2));
  EXPECT_EQ(profile.num_tokens(), 2u);
  EXPECT_EQ(profile.num_entries(), 8u);
}

TEST(ExpertProfileTest, MergingAddsCountsAndJoinsSources) {
  ExpertProfile profile = TestProfile({{1, 0}, {2, 3}}, 7, {"b", "a"});
  ASSERT_TRUE(profile.Merge(TestProfile({{4, 1}, {0, 1}}, 5, {"c", "a"})).ok());
  EXPECT_EQ(profile, TestProfile({{5, 1}, {2, 4}}, 12, {"a", "b", "c"}));
  EXPECT_EQ(profile.num_entries(), 12u);
}

TEST(ExpertProfileTest, MergingOneTwiceCountsItTwice) {
  const ExpertProfile profile = TestProfile({{1, 0}, {2, 3}}, 3, {"a"});
  EXPECT_EQ(Merged(profile, profile), TestProfile({{2, 0}, {4, 6}}, 6, {"a"}));
}

TEST(ExpertProfileTest, MergesInAnyOrderAndGrouping) {
  const uint64_t seed = TestSeed();
  std::mt19937_64 random(seed);
  std::vector<ExpertProfile> parts;
  for (int i = 0; i < 8; ++i) {
    parts.push_back(TestProfile({{random() % 99, random() % 99}, {random() % 99, 0}}, random() % 99,
                                {std::to_string(random() % 5)}));
  }
  ExpertProfile whole = parts[0];
  for (int i = 1; i < 8; ++i) whole = Merged(whole, parts[i]);
  for (int round = 0; round < 50; ++round) {
    std::vector<ExpertProfile> left = parts;
    while (left.size() > 1) {
      std::shuffle(left.begin(), left.end(), random);
      const ExpertProfile last = left.back();
      left.pop_back();
      left.back() = Merged(left.back(), last);
    }
    EXPECT_EQ(left[0], whole) << "seed " << seed;
  }
}

TEST(ExpertProfileTest, ASumThatDoesNotFitIsRefusedInAnyGrouping) {
  const uint64_t third = ExpertProfile::kMaxTotal / 3;
  const ExpertProfile a = TestProfile({{third, 0}}), b = TestProfile({{0, third}}),
                      c = TestProfile({{third + 2, 0}});
  ExpertProfile left = Merged(a, b);
  const ExpertProfile before = left;
  EXPECT_EQ(ErrorKind(left.Merge(c)), "size_overflow");
  EXPECT_EQ(left, before);
  ExpertProfile right = Merged(b, c);
  EXPECT_EQ(ErrorKind(ExpertProfile(a).Merge(right)), "size_overflow");
  ExpertProfile tokens = TestProfile({{1, 0}}, ExpertProfile::kMaxTotal);
  EXPECT_EQ(ErrorKind(tokens.Merge(TestProfile({{1, 0}}, 1))), "size_overflow");
  EXPECT_TRUE(tokens.Merge(TestProfile({{1, 0}}, 0)).ok());
}

TEST(ExpertProfileTest, AnotherModelIsRefusedAndWhatDiffersIsNamed) {
  ExpertProfile profile(TestIdentity(2, 4, 1));
  const ExpertProfile shape(TestIdentity(2, 5, 1)), routers(TestIdentity(2, 4, 1, /*content=*/9));
  ModelIdentity requantized = TestIdentity(2, 4, 1);
  requantized.experts.high = 99;
  for (const auto& [other, what] :
       {std::pair{shape, "of 2 layers (1 to 2) of 5 experts, 1 used; expected are 2 layers"},
        std::pair{routers, "routers of the same shape"},
        std::pair{ExpertProfile(requantized), "another quantization"}}) {
    const absl::Status status = profile.Merge(other);
    EXPECT_EQ(ErrorKind(status), "profile_mismatch");
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
    EXPECT_EQ(ErrorKind(other.CheckIsOf(profile.identity())), "profile_mismatch");
  }
  EXPECT_TRUE(profile.CheckIsOf(TestIdentity(2, 4, 1)).ok());
}

TEST(ExpertProfileTest, RanksTheHottestFirstAndUnusedExpertsLast) {
  EXPECT_THAT(TestProfile({{5, 0, 7}, {6, 1, 0}}).Rank(), ElementsAre(2, 3, 0, 4, 1, 5));
}

TEST(ExpertProfileTest, EqualCountsTakeTurnsAmongLayers) {
  EXPECT_THAT(TestProfile({{0, 0, 0}, {0, 0, 0}}).Rank(), ElementsAre(0, 3, 1, 4, 2, 5));
  // Four experts have 5: two of layer 1, one of layer 2, one of layer 3.
  EXPECT_THAT(TestProfile({{5, 9, 5}, {0, 0, 5}, {5, 2, 0}}).Rank(),
              ElementsAre(1, 0, 5, 6, 2, 7, 3, 8, 4));
}

TEST(ExpertProfileTest, ALabelIsPlainText) {
  for (const std::string label : {"a", "text.txt#12", "Grüße", "a\\n"}) {
    EXPECT_TRUE(ExpertProfile::IsSourceLabel(label)) << label;
  }
  for (const std::string& label :
       {std::string(), std::string("a\nb"), std::string("\x1b[2J"), std::string("\xff"),
        std::string(256, 'a'), std::string("a\0b", 3), std::string("\u202e")}) {
    EXPECT_FALSE(ExpertProfile::IsSourceLabel(label)) << label;
  }
}

TEST(ExpertProfileTest, WhatCannotBeIsNotMade) {
  const ModelIdentity identity = TestIdentity(1, 2, 1);
  EXPECT_EQ(ErrorKind(ExpertProfile::Create(identity, {1, 2}, 3, {"\n"}).status()), "bad_source");
  const uint64_t most = ExpertProfile::kMaxTotal;
  EXPECT_EQ(ErrorKind(ExpertProfile::Create(identity, {most, 1}, 3, {}).status()), "size_overflow");
  EXPECT_EQ(ErrorKind(ExpertProfile::Create(identity, {~uint64_t{0}, 2}, 3, {}).status()),
            "size_overflow");
  EXPECT_EQ(ErrorKind(ExpertProfile::Create(identity, {1, 2}, most + 1, {}).status()),
            "size_overflow");
  EXPECT_TRUE(ExpertProfile::Create(identity, {most, 0}, most, {}).ok());
}

}  // namespace
}  // namespace strata
