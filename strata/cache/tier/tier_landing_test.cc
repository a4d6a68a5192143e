// A tier whose misses land: what a step stores in an offered slot is served from there in the next
// one, if the policy wants it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/landing.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/testing/landing_step.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two layers of eight experts, of one size each, and eight slots: four for each, of which one is
// offered.
class TierLandingTest : public ::testing::Test {
 protected:
  static TierParts::Options OptionsOf(TierParts::Host host) {
    TierParts::Options options = {.experts = {.num_layers = 2, .num_experts = 8},
                                  .host = host,
                                  .budget = SlotBudget::Slots(8),
                                  .image = false};
    options.tier.offered_share = 0.25;
    options.tier.patches_by_step = true;
    options.tier.miss_path = MissPath::kRead;
    return options;
  }

  void Make(TierParts::Host host = TierParts::Host::kRegistered) {
    parts_ = std::make_unique<TierParts>(device_, OptionsOf(host));
    step_ = std::make_unique<LandingStep>(device_, parts_->stream, parts_->experts,
                                          parts_->geometry, tier());
  }
  void TearDown() override { device_.Drain(parts_->stream); }

  ExpertTier& tier() { return *parts_->tier; }

  void Step(const std::vector<int>& numbers) {
    tier().BeginStep();
    step_->Launch(numbers);
    tier().EndStep(*device_.Record(parts_->stream));
    device_.Drain(parts_->stream);
    for (const int number : numbers) tier().CountUses(parts_->geometry.IdOf(number), 1, true);
    EXPECT_TRUE(tier().AddLandings(step_->landings()).ok());
  }
  std::vector<int> Landed() const {
    std::vector<int> experts;
    for (const Landing& landing : step_->landings()) experts.push_back(landing.expert);
    return experts;
  }
  bool InSlot(int number) { return tier().Entry(number).form == EntryForm::kSlot; }

  HostDevice device_;
  std::unique_ptr<TierParts> parts_;
  std::unique_ptr<LandingStep> step_;
};

TEST_F(TierLandingTest, AFillLeavesTheOfferedSlotsEmpty) {
  Make();
  ASSERT_TRUE(tier().Fill({}).ok());
  EXPECT_EQ(tier().slots().NumIn(SlotState::kResident), 6);
  tier().BeginStep();
  EXPECT_EQ(tier().slots().NumIn(SlotState::kOffered), 2);
  EXPECT_EQ(tier().offers().size(), 2u);
  tier().EndStep({});
  ASSERT_TRUE(tier().AddLandings({}).ok());
  EXPECT_EQ(tier().slots().NumIn(SlotState::kEmpty), 2);
}

TEST_F(TierLandingTest, WhatHasLandedIsServedFromItsSlotInTheNextStep) {
  Make();
  ASSERT_TRUE(tier().Fill({}).ok());
  Step({5});
  EXPECT_THAT(Landed(), ElementsAre(5));
  EXPECT_FALSE(InSlot(5)) << "the table does not change before the next step";
  const int slot = step_->landings()[0].slot;
  Step({5});
  EXPECT_TRUE(InSlot(5));
  EXPECT_EQ(tier().slots().SlotOf(5), slot);
  EXPECT_EQ(step_->counts().num_hits, 1);
  EXPECT_EQ(step_->counts().wrong_experts + step_->counts().wrong_entries, 0);
  const TierCounters counters = tier().counters();
  EXPECT_EQ(counters.hits, 1);
  EXPECT_EQ(counters.num_misses(), 1);
  EXPECT_EQ(counters.landed, 1);
  EXPECT_EQ(counters.landed_bytes, parts_->geometry.BlobBytes(5));
  EXPECT_EQ(counters.landings_shown, 1);
  EXPECT_EQ(counters.offered, 4);
}

TEST_F(TierLandingTest, TheColdestResidentMakesWayAndItsSlotIsOfferedNext) {
  Make();
  ASSERT_TRUE(tier().Fill({}).ok());
  Step({0, 1});  // Of 0, 1 and 2, which fill the slots of layer 0.
  Step({5});
  const int slot_of_coldest = tier().slots().SlotOf(2);
  tier().BeginStep();
  EXPECT_FALSE(InSlot(2));
  EXPECT_TRUE(InSlot(5));
  EXPECT_EQ(tier().offers()[0].slot, slot_of_coldest);
  step_->Launch({2, 5});
  tier().EndStep(*device_.Record(parts_->stream));
  device_.Drain(parts_->stream);
  EXPECT_EQ(step_->counts().wrong_experts, 0) << "it is read where its alias is";
}

TEST_F(TierLandingTest, OnlyMissesThatBeatTheColdestResidentAreMarked) {
  Make();
  ASSERT_TRUE(tier().Fill({}).ok());
  Step({0, 1, 2});
  Step({0, 1, 2});
  Step({5});
  EXPECT_THAT(Landed(), IsEmpty()) << "one use against two";
  Step({5});
  EXPECT_THAT(Landed(), ElementsAre(5));
}

TEST_F(TierLandingTest, AStepThatFailsLeavesItsOffersEmpty) {
  Make();
  ASSERT_TRUE(tier().Fill({}).ok());
  tier().BeginStep();
  step_->Launch({5, 13}, /*stops_half_way=*/true);
  tier().EndStep(*device_.Record(parts_->stream));
  device_.Drain(parts_->stream);
  tier().PatchLost();
  ASSERT_TRUE(tier().AddLandings({}).ok());
  EXPECT_EQ(tier().slots().NumIn(SlotState::kEmpty), 2);
  Step({5});
  EXPECT_EQ(step_->counts().wrong_experts + step_->counts().wrong_entries, 0);
  Step({5});
  EXPECT_TRUE(InSlot(5));
  EXPECT_EQ(step_->counts().wrong_experts, 0);
}

TEST_F(TierLandingTest, GivesAPatchAgainWhenTheStepWasNeverLaunched) {
  Make();
  tier().BeginStep();
  step_->Launch({0});
  tier().EndStep(*device_.Record(parts_->stream));
  device_.Drain(parts_->stream);
  ASSERT_TRUE(tier().Fill({}).ok());
  tier().BeginStep();
  const size_t num_changed = tier().patch().size();
  EXPECT_GE(num_changed, 6u);
  tier().PatchLost();
  tier().EndStep({});
  ASSERT_TRUE(tier().AddLandings({}).ok());
  tier().BeginStep();
  EXPECT_GE(tier().patch().size(), num_changed);
  step_->Launch({0, 1});
  device_.Drain(parts_->stream);
  EXPECT_EQ(step_->counts().wrong_experts + step_->counts().wrong_entries, 0);
  tier().EndStep({});
}

TEST_F(TierLandingTest, RefusesAResultThatCannotBe) {
  Make();
  ASSERT_TRUE(tier().Fill({}).ok());
  const auto refused = [&](const std::vector<Landing>& landings) {
    tier().BeginStep();
    tier().EndStep({});
    const absl::Status status = tier().AddLandings(landings);
    EXPECT_EQ(tier().slots().NumIn(SlotState::kEmpty), 2);
    return status.code() == absl::StatusCode::kInternal;
  };
  tier().BeginStep();
  const int offered = tier().offers()[0].slot;
  tier().EndStep({});
  EXPECT_TRUE(refused({{.expert = 5, .slot = tier().slots().SlotOf(0)}}));
  EXPECT_TRUE(refused({{.expert = 0, .slot = offered}}));
  EXPECT_TRUE(refused({{.expert = 13, .slot = offered}})) << "of the other size";
  EXPECT_TRUE(refused({{.expert = 5, .slot = offered}, {.expert = 6, .slot = offered}}));
  EXPECT_TRUE(refused({{.expert = -1, .slot = offered}}));
  EXPECT_FALSE(refused({}));
}

TEST_F(TierLandingTest, NothingIsOfferedWhileAFillOrALoanHasPlansForSlots) {
  Make();
  tier().StartFill(SlotVerify::kNone);
  tier().BeginStep();
  EXPECT_THAT(tier().offers(), IsEmpty());
  tier().EndStep({});
  ASSERT_TRUE(tier().Fill({}).ok());
  {
    const auto loan = tier().LendSlots(2);
    ASSERT_TRUE(loan.ok()) << loan.status();
    Step({5});
    EXPECT_THAT(Landed(), IsEmpty());
  }
  tier().FirstTokenOut();
  while (!tier().fill_done()) Step({5});
  Step({5});
  EXPECT_THAT(Landed(), ElementsAre(5));
}

}  // namespace
}  // namespace strata
