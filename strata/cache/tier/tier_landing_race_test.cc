// What the order of a landing protects from, broken on purpose: each must be caught by the checker
// that the other tests trust, a step that reads every byte, and by the comparison of slots.
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/landing.h"
#include "strata/cache/tier/testing/landing_machine.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/core/gguf/blob_layout.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

// One layer of eight experts and six slots, of which two are offered: a fill brings 0 to 3.
class TierLandingRaceTest : public ::testing::Test {
 protected:
  void Make(SlotVerify verify) {
    TierParts::Options options = {.experts = {.num_layers = 1, .num_experts = 8},
                                  .budget = SlotBudget::Slots(6)};
    options.tier.verify_landings = verify;
    machine_ = std::make_unique<LandingMachine>(options, /*offered_share=*/0.34);
    ASSERT_TRUE(tier().Fill({}).ok());
    EXPECT_TRUE(machine_->Step({0}).ok());
  }
  ExpertTier& tier() { return *machine_->parts->tier; }
  // As a copy that nobody waits for would.
  void WriteInto(const LandingOffer& offer, int expert) {
    const ExpertFiles& files = machine_->parts->experts.files();
    const ExpertSlices& slices = files.Slices(machine_->parts->geometry.IdOf(expert));
    for (size_t i = 0; i < slices.size(); ++i) {
      const absl::Span<const std::byte> bytes = files.Mapped(slices[i]);
      std::memcpy(offer.parts[i], bytes.data(), bytes.size());
    }
  }
  // Whatever the memory held before, it is now no expert's.
  void WriteJunkInto(const LandingOffer& offer, int expert) {
    const ExpertFiles& files = machine_->parts->experts.files();
    const ExpertSlices& slices = files.Slices(machine_->parts->geometry.IdOf(expert));
    for (size_t i = 0; i < slices.size(); ++i) {
      std::memset(offer.parts[i], 0xa5, files.Mapped(slices[i]).size());
    }
  }
  // The breach happens between a step's kernels and its result; who sees it?
  template <typename Breach>
  void ExpectCaught(const std::vector<int>& used, const Breach& breach, int num_wrong) {
    for (const SlotVerify verify : {SlotVerify::kNone, SlotVerify::kAll}) {
      Make(verify);
      machine_->BeginStep(used);
      machine_->device.Drain(machine_->parts->stream);
      const std::vector<LandingOffer> offers(tier().offers().begin(), tier().offers().end());
      const std::vector<Landing> landings = breach(offers);
      for (const Landing& landing : landings) {
        tier().CountUses(machine_->parts->geometry.IdOf(landing.expert), 1, /*accepted=*/true);
      }
      EXPECT_TRUE(tier().AddLandings(landings).ok());
      EXPECT_EQ(machine_->num_wrong(), 0);
      machine_->BeginStep({4, 5, 6, 7});
      const absl::Status status = machine_->EndStep();
      if (verify == SlotVerify::kNone) {
        EXPECT_EQ(machine_->num_wrong(), num_wrong);
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
        EXPECT_EQ(machine_->num_wrong(), 0) << "it was never shown";
      }
    }
  }

  std::unique_ptr<LandingMachine> machine_;
};

TEST_F(TierLandingRaceTest, TheRightOrderIsRight) {
  Make(SlotVerify::kAll);
  EXPECT_TRUE(machine_->Step({4, 5}).ok());
  EXPECT_THAT(machine_->Landed(), ElementsAre(4, 5));
  for (const std::vector<int>& used : std::vector<std::vector<int>>{{4, 5}, {6, 7}, {4, 6, 7}}) {
    EXPECT_TRUE(machine_->Step(used).ok());
  }
  EXPECT_EQ(machine_->num_wrong(), 0);
  EXPECT_EQ(machine_->NumWrongSlots(), 0);
}

TEST_F(TierLandingRaceTest, ASlotThatIsGivenOutTwiceIsCaught) {
  // The step says that both have slots of their own; one slot has got both.
  ExpectCaught(
      {4, 5},
      [this](const std::vector<LandingOffer>& offers) {
        WriteInto(offers[0], 5);
        return std::vector<Landing>{{4, offers[0].slot}, {5, offers[1].slot}};
      },
      1);
  // And when it says so, it is not believed.
  Make(SlotVerify::kNone);
  machine_->BeginStep({4, 5});
  machine_->device.Drain(machine_->parts->stream);
  const int slot = tier().offers()[0].slot;
  EXPECT_EQ(tier().AddLandings({{4, slot}, {5, slot}}).code(), absl::StatusCode::kInternal);
}

TEST_F(TierLandingRaceTest, AnExpertThatIsShownBeforeItsStepsResultIsCaught) {
  ExpectCaught(
      {},  // Its kernels have stored nothing yet.
      [this](const std::vector<LandingOffer>& offers) {
        WriteJunkInto(offers[0], 4);
        return std::vector<Landing>{{4, offers[0].slot}};
      },
      1);
}

TEST_F(TierLandingRaceTest, ASlotThatAFillTakesWhileItIsOfferedIsCaught) {
  ExpectCaught(
      {4},
      [this](const std::vector<LandingOffer>& offers) {
        WriteInto(offers[0], 7);
        return std::vector<Landing>{{4, offers[0].slot}};
      },
      1);
}

TEST_F(TierLandingRaceTest, AVictimWithoutAnAliasIsCaught) {
  Make(SlotVerify::kNone);
  const int victim = 3;  // The coldest.
  const ExpertEntry in_slot = tier().Entry(victim);
  ASSERT_EQ(in_slot.form, EntryForm::kSlot);
  EXPECT_TRUE(machine_->Step({4}).ok());
  EXPECT_TRUE(machine_->Step({4, 5, 6}).ok());
  ASSERT_FALSE(machine_->InSlot(victim));
  EXPECT_TRUE(machine_->Step({5, 6}).ok());
  EXPECT_EQ(machine_->num_wrong(), 0);
  // Its entry has stayed where it was, and its slot was offered and taken.
  auto* const image = const_cast<std::byte*>(tier().table().image());
  std::memcpy(image + victim * sizeof(in_slot), &in_slot, sizeof(in_slot));
  EXPECT_TRUE(machine_->Step({victim}).ok());
  EXPECT_EQ(machine_->counts().wrong_experts, 1);
  EXPECT_EQ(machine_->counts().wrong_entries, 1);
}

}  // namespace
}  // namespace strata
