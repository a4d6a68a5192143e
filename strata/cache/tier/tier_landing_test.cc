// A tier whose misses land: what a step stores in an offered slot is served from there in the next
// one, if the policy wants it.
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/landing.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/testing/landing_machine.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/cache/tier/tier_counters.h"

namespace strata {
namespace {

using Fault = LandingMachine::Fault;
using Host = TierParts::Host;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two layers of eight experts, of one size each, and eight slots: four for each, of which one is
// offered. A fill brings experts 0, 1 and 2 of both.
class TierLandingTest : public ::testing::Test {
 protected:
  void MakeFilled(Host host = Host::kRegistered, SlotVerify verify = SlotVerify::kNone) {
    Make(host, verify);
    ASSERT_TRUE(tier().Fill({}).ok());
  }
  void Make(Host host = Host::kRegistered, SlotVerify verify = SlotVerify::kNone) {
    TierParts::Options options = {.experts = {.num_layers = 2, .num_experts = 8},
                                  .host = host,
                                  .num_spare_places = 2,
                                  .budget = SlotBudget::Slots(8)};
    if (host == Host::kArena) options.tier.aliases = AliasRule::kPinnedOnly;
    options.tier.verify_landings = verify;
    // Its marks can be followed by hand.
    options.tier.landing_rule = LandingRule::kAdaptive;
    machine_ = std::make_unique<LandingMachine>(options, /*offered_share=*/0.25);
  }
  ExpertTier& tier() { return *machine_->parts->tier; }
  void Step(const std::vector<int>& numbers) { EXPECT_TRUE(machine_->Step(numbers).ok()); }
  int NumIn(SlotState state) { return tier().slots().NumIn(state); }

  std::unique_ptr<LandingMachine> machine_;
};

TEST_F(TierLandingTest, AFillLeavesTheOfferedSlotsEmpty) {
  MakeFilled();
  EXPECT_EQ(NumIn(SlotState::kResident), 6);
  tier().BeginStep();
  EXPECT_EQ(NumIn(SlotState::kOffered), 2);
  EXPECT_THAT(tier().offers(), SizeIs(2));
  tier().EndStep({});
  ASSERT_TRUE(tier().AddLandings({}).ok());
  EXPECT_EQ(NumIn(SlotState::kEmpty), 2);
}

TEST_F(TierLandingTest, WhatHasLandedIsServedFromItsSlotInTheNextStep) {
  MakeFilled();
  Step({5});
  EXPECT_THAT(machine_->Landed(), ElementsAre(5));
  EXPECT_FALSE(machine_->InSlot(5)) << "the table does not change before the next step";
  const int slot = machine_->step->landings()[0].slot;
  Step({5});
  EXPECT_TRUE(machine_->InSlot(5));
  EXPECT_EQ(tier().slots().SlotOf(5), slot);
  EXPECT_EQ(machine_->counts().num_hits, 1);
  EXPECT_EQ(machine_->num_wrong(), 0);
  const TierCounters counters = tier().counters();
  EXPECT_EQ(counters.hits, 1);
  EXPECT_EQ(counters.num_misses(), 1);
  EXPECT_EQ(counters.landed, 1);
  EXPECT_EQ(counters.landed_bytes, machine_->parts->geometry.BlobBytes(5));
  EXPECT_EQ(counters.landings_shown, 1);
  EXPECT_EQ(counters.offered, 4);
}

TEST_F(TierLandingTest, TheColdestResidentMakesWayAndItsSlotIsOfferedNext) {
  MakeFilled();
  Step({0, 1});
  Step({5});
  const int slot_of_coldest = tier().slots().SlotOf(2);
  machine_->BeginStep({2, 5});
  EXPECT_FALSE(machine_->InSlot(2));
  EXPECT_TRUE(machine_->InSlot(5));
  EXPECT_EQ(tier().offers()[0].slot, slot_of_coldest);
  EXPECT_TRUE(machine_->EndStep().ok());
  EXPECT_EQ(machine_->num_wrong(), 0) << "the victim is read where its alias is";
}

TEST_F(TierLandingTest, OnlyMissesThatBeatTheColdestResidentAreMarked) {
  MakeFilled();
  Step({0, 1, 2});
  Step({0, 1, 2});
  Step({5});
  EXPECT_THAT(machine_->Landed(), IsEmpty()) << "one use against two";
  Step({5});
  EXPECT_THAT(machine_->Landed(), ElementsAre(5));
}

TEST_F(TierLandingTest, WhatTheStepBeforeMadeColdIsNotKept) {
  MakeFilled();
  // Both beat the coldest when the step begins; the step makes all residents as hot.
  Step({0, 1, 2, 5, 6});
  EXPECT_THAT(machine_->Landed(), ElementsAre(5));
  Step({});
  EXPECT_FALSE(machine_->InSlot(5)) << "of equal counts, the residents rank higher";
  EXPECT_EQ(NumIn(SlotState::kEmpty), 2);
}

TEST_F(TierLandingTest, AStepThatFailsLeavesItsOffersEmpty) {
  MakeFilled();
  EXPECT_TRUE(machine_->Step({5, 13}, Fault::kStopsHalfWay).ok());
  EXPECT_EQ(NumIn(SlotState::kEmpty), 2);
  Step({5});
  Step({5});
  EXPECT_TRUE(machine_->InSlot(5));
  EXPECT_EQ(machine_->num_wrong(), 0);
}

TEST_F(TierLandingTest, GivesAPatchAgainWhenTheStepWasNeverLaunched) {
  MakeFilled();
  EXPECT_TRUE(machine_->Step({0}, Fault::kNotLaunched).ok());
  const size_t num_lost = 6;  // Of the fill, at least.
  tier().BeginStep();
  EXPECT_GE(tier().patch().size(), num_lost);
  machine_->step->Launch({0, 1});
  machine_->device.Drain(machine_->parts->stream);
  tier().EndStep({});
  EXPECT_EQ(machine_->num_wrong(), 0);
  EXPECT_TRUE(tier().AddLandings({}).ok());
  Step({0});
  EXPECT_LT(tier().patch().size(), num_lost) << "what was written is not given again";
}

TEST_F(TierLandingTest, TheWholeImageCanBeWrittenInPlaceOfALongPatch) {
  MakeFilled();
  tier().BeginStep();
  ASSERT_TRUE(tier().RecoverTable().ok());
  EXPECT_THAT(tier().patch(), IsEmpty());
  machine_->step->Launch({0, 5});
  machine_->device.Drain(machine_->parts->stream);
  tier().EndStep({});
  EXPECT_EQ(machine_->num_wrong(), 0);
}

TEST_F(TierLandingTest, RefusesAResultThatCannotBeAndLandsNothingFromThenOn) {
  constexpr int kOffered = -1, kOfAResident = -2;
  const auto refused = [&](std::vector<Landing> landings) {
    MakeFilled();
    tier().BeginStep();
    for (Landing& landing : landings) {
      landing.slot = landing.slot == kOffered ? tier().offers()[0].slot : tier().slots().SlotOf(0);
    }
    tier().EndStep({});
    const absl::Status status = tier().AddLandings(landings);
    EXPECT_EQ(NumIn(SlotState::kEmpty), 2);
    tier().BeginStep();
    EXPECT_THAT(tier().offers(), SizeIs(status.ok() ? 2 : 0));
    tier().EndStep({});
    return status.code() == absl::StatusCode::kInternal;
  };
  EXPECT_TRUE(refused({{.expert = 5, .slot = kOfAResident}}));
  EXPECT_TRUE(refused({{.expert = 0, .slot = kOffered}}));
  EXPECT_TRUE(refused({{.expert = 13, .slot = kOffered}})) << "of the other size";
  EXPECT_TRUE(refused({{.expert = 5, .slot = kOffered}, {.expert = 6, .slot = kOffered}}));
  EXPECT_TRUE(refused({{.expert = -1, .slot = kOffered}}));
  EXPECT_TRUE(refused({{.expert = 16, .slot = kOffered}}));
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
    EXPECT_THAT(machine_->Landed(), IsEmpty());
  }
  tier().FirstTokenOut();
  while (!tier().fill_done()) Step({5});
  Step({5});
  EXPECT_THAT(machine_->Landed(), ElementsAre(5));
}

TEST_F(TierLandingTest, ALoanComesAfterWhatHasLandedWasShown) {
  MakeFilled();
  Step({5});
  ASSERT_TRUE(tier().LendSlots(1).ok());
  EXPECT_TRUE(machine_->InSlot(5));
  EXPECT_EQ(NumIn(SlotState::kCopying), 0);
}

TEST_F(TierLandingTest, CopiesBringExpertsWhileNothingLands) {
  MakeFilled();
  tier().SetLanding(false);
  Step({5});
  EXPECT_THAT(machine_->Landed(), IsEmpty());
  while (!machine_->InSlot(5)) Step({5});
  EXPECT_GT(tier().counters().swaps_visible, 0);
  while (NumIn(SlotState::kResident) < 8) Step({5, 6, 7, 13, 14, 15});
  // The coldest make way for what is offered again.
  tier().SetLanding(true);
  while (NumIn(SlotState::kOffered) == 0) {
    EXPECT_TRUE(tier().AddLandings({}).ok());
    tier().BeginStep();
    tier().EndStep({});
  }
  EXPECT_EQ(NumIn(SlotState::kOffered), 2);
  EXPECT_EQ(NumIn(SlotState::kResident), 6);
}

TEST_F(TierLandingTest, WithAComplementArenaAsManyAreAdmittedAsItHasPlacesForVictims) {
  MakeFilled(Host::kArena);
  Step({5, 13});
  EXPECT_THAT(machine_->Landed(), ElementsAre(5, 13));
  Step({5, 13});
  EXPECT_TRUE(machine_->InSlot(5));
  EXPECT_TRUE(machine_->InSlot(13));
  EXPECT_FALSE(machine_->InSlot(2));
  // The newcomers have left places for those that come later.
  for (const int number : {6, 7, 5, 6, 7, 3, 4, 3, 4, 6}) Step({number, number + 8});
  EXPECT_EQ(machine_->num_wrong(), 0);
  EXPECT_EQ(machine_->NumWrongSlots(), 0);
  EXPECT_GT(tier().counters().landings_shown, 4);
  Step({});
  EXPECT_EQ(machine_->parts->NumLostPlaces(), 0);
}

TEST_F(TierLandingTest, AVictimThatNobodyCouldReadStays) {
  // Pinned memory alone, and there is none.
  TierParts::Options options = {.host = Host::kPageable, .budget = SlotBudget::Slots(8)};
  options.tier.aliases = AliasRule::kPinnedOnly;
  machine_ = std::make_unique<LandingMachine>(options, 0.25);
  ASSERT_TRUE(tier().Fill({}).ok());
  tier().BeginStep();
  const Landing landing = {.expert = 5, .slot = tier().offers()[0].slot};
  tier().EndStep({});
  tier().CountUses(machine_->parts->geometry.IdOf(5), 1, /*accepted=*/true);
  ASSERT_TRUE(tier().AddLandings({landing}).ok());
  tier().BeginStep();
  EXPECT_FALSE(machine_->InSlot(5));
  EXPECT_EQ(NumIn(SlotState::kResident), 6);
  tier().EndStep({});
}

TEST_F(TierLandingTest, ComparesWhatHasLandedAsItWasAskedTo) {
  for (const SlotVerify verify : {SlotVerify::kNone, SlotVerify::kSample, SlotVerify::kAll}) {
    MakeFilled(Host::kRegistered, verify);
    for (int i = 0; i < 40; ++i) Step({3 + i % 5, 11 + i % 5});
    const TierCounters counters = tier().counters();
    EXPECT_GT(counters.landings_shown, 10);
    EXPECT_EQ(counters.landings_verified > 0, verify != SlotVerify::kNone);
    EXPECT_EQ(counters.landings_verified >= counters.landings_shown, verify == SlotVerify::kAll);
    EXPECT_EQ(counters.waits_for_swaps, 0);
  }
}

}  // namespace
}  // namespace strata
