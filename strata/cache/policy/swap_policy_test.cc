#include "strata/cache/policy/swap_policy.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {
namespace {

using Place = SwapPolicy::Place;
using Swap = SwapPolicy::Swap;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A copy of a small blob costs 100 ns, a miss 10 + 100 more than a hit.
constexpr SwapRates kRates = {
    .copy_bytes_per_ns = 10, .miss_fixed_ns = 10, .miss_ns_per_byte = 0.1};

class SwapPolicyTest : public ::testing::Test {
 protected:
  static constexpr int kNumExperts = 8;

  void Make(SwapPolicy::Options options, std::vector<int> ranking = {}) {
    policy_ = std::make_unique<SwapPolicy>(geometry_, options, ranking);
  }
  void Use(int number, int times) {
    for (int i = 0; i < times; ++i) policy_->CountUses(number, 1);
  }
  std::vector<Swap> Decide(const SwapRates& rates = kRates) {
    const absl::Span<const Swap> swaps = policy_->Decide(rates, places_, num_empty_);
    return {swaps.begin(), swaps.end()};
  }
  std::vector<std::pair<int, int>> DecidePairs() {
    std::vector<std::pair<int, int>> pairs;
    for (const Swap& swap : Decide()) pairs.emplace_back(swap.newcomer, swap.victim);
    return pairs;
  }

  // Numbers 0-7 are small, 8-15 large.
  const ExpertGeometry geometry_{
      {{.block = 0, .blob_bytes = 1000}, {.block = 1, .blob_bytes = 2000}}, kNumExperts, 2};
  std::vector<Place> places_ = std::vector<Place>(16, Place::kHost);
  std::vector<int> num_empty_ = {0, 0};
  std::unique_ptr<SwapPolicy> policy_;
};

TEST_F(SwapPolicyTest, DecidesNothingByRatesThatNobodyCanHaveMeasured) {
  Make({});
  places_[0] = places_[1] = Place::kSlot;
  Use(2, 100);
  Use(3, 100);
  ASSERT_FALSE(Decide().empty());
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double wrong : {kNan, kInfinity, -kInfinity, -1.0}) {
    for (double SwapRates::*rate :
         {&SwapRates::copy_bytes_per_ns, &SwapRates::miss_fixed_ns, &SwapRates::miss_ns_per_byte}) {
      SwapRates rates = kRates;
      rates.*rate = wrong;
      EXPECT_THAT(Decide(rates), IsEmpty()) << wrong;
    }
  }
  EXPECT_THAT(Decide({}), IsEmpty()) << "nothing was measured";
}

TEST_F(SwapPolicyTest, PutsWhatIsUsedInThePlaceOfWhatIsNot) {
  Make({});
  places_[0] = places_[1] = Place::kSlot;
  Use(0, 5);
  Use(3, 20);
  const std::vector<Swap> swaps = Decide();
  ASSERT_EQ(swaps.size(), 1u);
  EXPECT_EQ(swaps[0].newcomer, 3);
  EXPECT_EQ(swaps[0].victim, 1);
  EXPECT_EQ(swaps[0].bytes, 1000);
  EXPECT_DOUBLE_EQ(swaps[0].predicted_saving_ns, 20 * 110 - 100);
}

TEST_F(SwapPolicyTest, DemandsThatUsesPayForTheCopyWithTheMargin) {
  Make({.margin = 1.0});
  places_[0] = Place::kSlot;
  Use(3, 1);
  EXPECT_THAT(Decide(), IsEmpty()) << "110 ns do not pay for twice 100";
  Use(3, 1);
  EXPECT_THAT(DecidePairs(), ElementsAre(std::pair(3, 0)));
}

TEST_F(SwapPolicyTest, ChargesTheUsesOfTheVictim) {
  Make({});
  places_[0] = Place::kSlot;
  Use(0, 19);
  Use(3, 20);
  EXPECT_THAT(Decide(), IsEmpty());
}

TEST_F(SwapPolicyTest, SwapsWithinASizeClassAndFillsEmptySlotsFirst) {
  Make({});
  places_[0] = Place::kSlot;
  num_empty_ = {1, 0};
  Use(3, 20);
  Use(4, 30);
  Use(9, 1000);
  EXPECT_THAT(DecidePairs(), ElementsAre(std::pair(4, -1), std::pair(3, 0)))
      << "9 is large and no large slot is there";
}

TEST_F(SwapPolicyTest, KeepsTheBestWithinTheNumberAndTheBytesOfARound) {
  places_[0] = places_[1] = places_[8] = Place::kSlot;
  for (const auto& [max_swaps, max_bytes, expected] :
       std::vector<std::tuple<int, int64_t, std::vector<int>>>{{32, 1 << 20, {9, 4, 3}},
                                                               {2, 1 << 20, {9, 4}},
                                                               {32, 2500, {9}},
                                                               {32, 1999, {4}},
                                                               {0, 1 << 20, {}}}) {
    Make({.max_swaps = max_swaps, .max_bytes = max_bytes});
    Use(3, 20);
    Use(4, 30);
    Use(9, 40);
    std::vector<int> newcomers;
    for (const Swap& swap : Decide()) newcomers.push_back(swap.newcomer);
    EXPECT_EQ(newcomers, expected) << max_swaps << " " << max_bytes;
  }
}

TEST_F(SwapPolicyTest, LeavesBusyExpertsAlone) {
  Make({});
  places_[0] = places_[1] = Place::kSlot;
  Use(3, 20);
  Use(4, 20);
  places_[3] = Place::kBusy;
  places_[0] = Place::kBusy;
  EXPECT_THAT(DecidePairs(), ElementsAre(std::pair(4, 1)));
}

TEST_F(SwapPolicyTest, BreaksTiesByTheRanking) {
  Make({.max_swaps = 1}, {6, 2, 5});
  places_[6] = places_[5] = places_[2] = Place::kSlot;
  for (const int number : {0, 1, 3, 4, 7}) Use(number, 9);
  EXPECT_THAT(DecidePairs(), ElementsAre(std::pair(0, 5)))
      << "5 is the last of the ranking, 0 the first of those it lacks";
}

TEST_F(SwapPolicyTest, ACountIsTheUsesToExpectOverTheHorizon) {
  Make({.decay = 0.9});
  EXPECT_EQ(policy_->horizon_rounds(), 10);
  for (int round = 0; round < 500; ++round) {
    policy_->EndRound();
    Use(3, 2);
  }
  EXPECT_NEAR(policy_->count(3), 2 * 10, 1e-3);
  for (int round = 0; round < 500; ++round) policy_->EndRound();
  EXPECT_EQ(policy_->count(3), 0);
}

TEST_F(SwapPolicyTest, BeginsWithWhatAProfileLetsExpect) {
  Make({});
  std::vector<float> uses(16, 0);
  uses[0] = 50;
  uses[1] = 1;
  policy_->Seed(uses);
  places_[0] = places_[1] = Place::kSlot;
  Use(3, 20);
  EXPECT_THAT(DecidePairs(), ElementsAre(std::pair(3, 1)));
}

TEST_F(SwapPolicyTest, DecidesNothingBeforeACopyHasBeenMeasured) {
  Make({});
  num_empty_ = {1, 1};
  Use(3, 1000);
  EXPECT_THAT(Decide({}), IsEmpty());
}

TEST_F(SwapPolicyTest, NeverSavesByAnyOtherPairWhatItLeavesOut) {
  // Against a loop over all pairs: the best first swap is the best of all pairs.
  std::mt19937 random(7);
  for (int repetition = 0; repetition < 200; ++repetition) {
    Make({.max_swaps = 3, .margin = 0});
    for (int number = 0; number < 16; ++number) {
      Use(number, random() % 12);
      places_[number] = random() % 2 == 0 ? Place::kSlot : Place::kHost;
    }
    double best = 0;
    for (int newcomer = 0; newcomer < 16; ++newcomer) {
      for (int victim = newcomer / 8 * 8; victim < newcomer / 8 * 8 + 8; ++victim) {
        if (places_[newcomer] != Place::kHost || places_[victim] != Place::kSlot) continue;
        const int64_t bytes = geometry_.BlobBytes(newcomer);
        best = std::max(best,
                        (policy_->count(newcomer) - policy_->count(victim)) * kRates.MissNs(bytes) -
                            kRates.CopyNs(bytes));
      }
    }
    const std::vector<Swap> swaps = Decide();
    EXPECT_DOUBLE_EQ(swaps.empty() ? 0 : swaps[0].predicted_saving_ns, best);
  }
}

TEST_F(SwapPolicyTest, HandlesTheLargestModels) {
  // 512 experts in 94 layers of three sizes; the processor's time of a round is printed, not
  // judged.
  std::vector<ExpertGeometry::Layer> layers;
  for (int i = 0; i < 94; ++i) layers.push_back({.block = i, .blob_bytes = 1000 + i % 3 * 100});
  const ExpertGeometry geometry(layers, 512, 8);
  SwapPolicy policy(geometry, {}, {});
  std::mt19937 random(3);
  std::vector<Place> places(geometry.size());
  for (Place& place : places) place = random() % 4 == 0 ? Place::kSlot : Place::kHost;
  const std::vector<int> num_empty(3, 0);
  constexpr int kRounds = 200;
  const std::clock_t start = std::clock();
  int64_t num_swaps = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 94 * 8 * 4; ++i) policy.CountUses(random() % geometry.size(), 1);
    num_swaps += policy.Decide(kRates, places, num_empty).size();
    policy.EndRound();
  }
  std::cout << 1e6 * (std::clock() - start) / CLOCKS_PER_SEC / kRounds << " us a round"
            << std::endl;
  EXPECT_EQ(num_swaps, kRounds * 32);
}

}  // namespace
}  // namespace strata
