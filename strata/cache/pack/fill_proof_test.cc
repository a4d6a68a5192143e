#include "strata/cache/pack/fill_proof.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/pack/pack.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/slot_reference.h"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/core/device.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Choice = HostPlacement::Choice;

// A model of 24 experts and a device that is memory of the host.
class FillProofTest : public testing::Test {
 protected:
  explicit FillProofTest(const HostDevice::Options& options = {})
      : folder_(NewFolder("proof")),
        model_(WriteSmallModel(folder_, "model", {.layers = 3, .experts = 8})),
        files_(*model_.file, model_.layout),
        reference_(files_, model_.identity.geometry, nullptr),
        device_(options) {}

  std::unique_ptr<FillProof> Prove(const FillProof::Options& options) {
    absl::StatusOr<std::unique_ptr<FillProof>> proof =
        FillProof::Create(options, model_.identity.geometry, files_, reference_, device_);
    EXPECT_TRUE(proof.ok()) << proof.status();
    return *std::move(proof);
  }
  static std::vector<int> FaultySlots(FillProof& proof) {
    const absl::StatusOr<FillProof::Verified> verified = proof.VerifyAll();
    EXPECT_TRUE(verified.ok()) << verified.status();
    std::set<int> slots;
    for (const FillProof::Fault& fault : verified->faults) slots.insert(fault.slot);
    return {slots.begin(), slots.end()};
  }
  static int NumVerified(FillProof& proof) { return proof.VerifyAll()->num_slots; }
  // A test may write what the device shows read-only: it is memory of the host.
  static std::byte* Data(const FillProof& proof, int slot) {
    return proof.tier().slots().data(slot);
  }

  const std::string folder_;
  const OpenModel model_;
  const ExpertFiles files_;
  const SlotReference reference_;
  HostDevice device_;
};

TEST_F(FillProofTest, SlotsAreRightAfterFillsLoansAndSwapsOfEveryForm) {
  for (const Choice choice : {Choice::kAuto, Choice::kRegistered, Choice::kArena, Choice::kStage}) {
    for (const int slots : {24, 10, 1}) {
      const auto proof =
          Prove({.slots = SlotBudget::Slots(slots), .host = {.choice = choice}, .seed = 7});
      ASSERT_TRUE(proof->Fill().ok());
      EXPECT_EQ(NumVerified(*proof), slots);
      EXPECT_THAT(FaultySlots(*proof), IsEmpty());
      ASSERT_TRUE(proof->LendAndRefill(5).ok());
      EXPECT_EQ(NumVerified(*proof), slots);
      EXPECT_THAT(FaultySlots(*proof), IsEmpty());
      const std::vector<int> before = proof->tier().residents();
      ASSERT_TRUE(proof->Swap(20).ok());
      EXPECT_GE(proof->tier().counters().swaps_visible, 20);
      EXPECT_EQ(NumVerified(*proof), slots);
      EXPECT_THAT(FaultySlots(*proof), IsEmpty());
      // One slot may hold its first expert again, and so may all.
      if (slots == 10) {
        EXPECT_NE(proof->tier().residents(), before);
      }
    }
  }
}

TEST_F(FillProofTest, NothingPinnedIsSlowAndRight) {
  const auto proof =
      Prove({.slots = SlotBudget::Slots(12), .host = {.choice = Choice::kStage, .pin_budget = 0}});
  ASSERT_TRUE(proof->Fill().ok());
  ASSERT_TRUE(proof->LendAndRefill(4).ok());
  ASSERT_TRUE(proof->Swap(9).ok());
  EXPECT_EQ(NumVerified(*proof), 12);
  EXPECT_THAT(FaultySlots(*proof), IsEmpty());
  EXPECT_EQ(proof->host().pinned_bytes(), 0);
}

TEST_F(FillProofTest, ThereMayBeMoreSwapsThanSlotsWhenAllExpertsHaveOne) {
  const auto proof = Prove({.slots = SlotBudget::Slots(24)});
  ASSERT_TRUE(proof->Fill().ok());
  const absl::Status status = proof->Swap(100);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GE(proof->tier().counters().swaps_visible, 100);
  EXPECT_EQ(NumVerified(*proof), 24);
  EXPECT_THAT(FaultySlots(*proof), IsEmpty());
}

TEST_F(FillProofTest, SwapsFromAFileThatWasCutEndAtOnceWithItsName) {
  const auto proof =
      Prove({.slots = SlotBudget::Slots(12), .host = {.choice = Choice::kStage, .pin_budget = 0}});
  ASSERT_TRUE(proof->Fill().ok());
  const std::string path = model_.file->path();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 8);
  const absl::Status status = proof->Swap(1000);
  EXPECT_THAT(status.ToString(), HasSubstr(path));
  EXPECT_GT(proof->tier().counters().swaps_failed, 0);
}

TEST_F(FillProofTest, ExactlyTheSlotsThatWereSpoiltAreReported) {
  const auto proof = Prove({.slots = SlotBudget::Slots(24)});
  ASSERT_TRUE(proof->Fill().ok());
  const int64_t down = files_.LayoutOf(files_.ids()[0]).offset(2);
  Data(*proof, 17)[down + 99] ^= std::byte{1};
  Data(*proof, 3)[0] ^= std::byte{128};
  const absl::StatusOr<FillProof::Verified> verified = proof->VerifyAll();
  ASSERT_TRUE(verified.ok()) << verified.status();
  ASSERT_EQ(verified->faults.size(), 2u);
  EXPECT_EQ(verified->faults[0].slot, 3);
  EXPECT_EQ(verified->faults[0].part, 0u);
  EXPECT_EQ(verified->faults[0].difference.offset, 0);
  EXPECT_EQ(verified->faults[1].slot, 17);
  EXPECT_EQ(verified->faults[1].part, 2u);
  EXPECT_EQ(verified->faults[1].difference.offset, 99);
  EXPECT_THAT(proof->VerifyFirst()->faults, IsEmpty());
}

TEST_F(FillProofTest, TwoExpertsInEachOthersSlotsAreBothReported) {
  const auto proof = Prove({.slots = SlotBudget::Slots(24)});
  ASSERT_TRUE(proof->Fill().ok());
  const int64_t bytes = files_.max_blob_bytes();
  std::swap_ranges(Data(*proof, 5), Data(*proof, 5) + bytes, Data(*proof, 20));
  EXPECT_THAT(FaultySlots(*proof), ElementsAre(5, 20));
}

TEST_F(FillProofTest, WhatAPackSaysIsComparedAndTheFileNamesTheByte) {
  ASSERT_TRUE(BuildPack(model_, PackOptions(model_, folder_ + "/pack")).ok());
  const auto pack = Pack::OpenFor(folder_ + "/pack", *model_.file, model_.layout, model_.identity);
  ASSERT_TRUE(pack.ok()) << pack.status();
  const ExpertFiles of_pack = (*pack)->Experts(model_.layout);
  const SlotReference reference(files_, model_.identity.geometry, &(*pack)->manifest());
  const auto proof = FillProof::Create({.slots = SlotBudget::Slots(24)}, model_.identity.geometry,
                                       of_pack, reference, device_);
  ASSERT_TRUE(proof.ok()) << proof.status();
  ASSERT_TRUE((*proof)->Fill().ok());
  EXPECT_THAT(FaultySlots(**proof), IsEmpty());
  Data(**proof, 2)[7] ^= std::byte{1};
  const absl::StatusOr<FillProof::Verified> verified = (*proof)->VerifyAll();
  ASSERT_EQ(verified->faults.size(), 1u);
  EXPECT_EQ(verified->faults[0].difference.offset, 7);
}

TEST_F(FillProofTest, ExpertsThatAreWrongInThePackAreReportedAgainstItsManifest) {
  ASSERT_TRUE(BuildPack(model_, PackOptions(model_, folder_ + "/pack")).ok());
  const PackManifest manifest = *LoadPackManifest(folder_ + "/pack");
  Flip(folder_ + "/pack/experts.bin", manifest.layout->offsets[11] + 3);
  const auto pack = Pack::Open(folder_ + "/pack");
  ASSERT_TRUE(pack.ok()) << pack.status();
  const ExpertFiles of_pack = (*pack)->Experts(model_.layout);
  const SlotReference reference(files_, model_.identity.geometry, &manifest);
  const auto proof = FillProof::Create({.slots = SlotBudget::Slots(24)}, model_.identity.geometry,
                                       of_pack, reference, device_);
  ASSERT_TRUE(proof.ok()) << proof.status();
  ASSERT_TRUE((*proof)->Fill().ok());
  const absl::StatusOr<FillProof::Verified> verified = (*proof)->VerifyAll();
  ASSERT_EQ(verified->faults.size(), 1u);
  EXPECT_EQ(verified->faults[0].expert, (ExpertId{.layer = 1, .index = 3}));
  EXPECT_EQ(verified->faults[0].difference.offset, 3);
}

// The copies into slots 4 and 9 go wrong: in the slot after the copy, or in the stage before it.
class SpoiltCopiesTest : public FillProofTest {
 protected:
  SpoiltCopiesTest()
      : FillProofTest({.before_copy = [this](const HostToDeviceCopy& copy) { Before(copy); },
                       .after_copy = [this](const HostToDeviceCopy& copy) { After(copy); }}) {}

  bool IsSpoilt(const HostToDeviceCopy& copy, int slot) const {
    return spoilt_ != nullptr && copy.destination == Data(*spoilt_, slot);
  }
  void Before(const HostToDeviceCopy& copy) const {
    if (spoils_stages_ && IsSpoilt(copy, 9)) const_cast<std::byte*>(copy.source)[1] ^= std::byte{1};
  }
  void After(const HostToDeviceCopy& copy) const {
    if (!spoils_stages_ && IsSpoilt(copy, 4)) copy.destination[1] ^= std::byte{1};
  }

  const FillProof* spoilt_ = nullptr;
  bool spoils_stages_ = false;
};

TEST_F(SpoiltCopiesTest, ASlotThatACopySpoiltIsReported) {
  const auto proof = Prove({.slots = SlotBudget::Slots(16), .host = {.choice = Choice::kStage}});
  spoilt_ = proof.get();
  ASSERT_TRUE(proof->Fill().ok());
  EXPECT_THAT(FaultySlots(*proof), ElementsAre(4));
}

TEST_F(SpoiltCopiesTest, AStageThatWasSpoiltBeforeItsCopyIsReported) {
  const auto proof = Prove({.slots = SlotBudget::Slots(16), .host = {.choice = Choice::kStage}});
  spoilt_ = proof.get();
  spoils_stages_ = true;
  ASSERT_TRUE(proof->Fill().ok());
  EXPECT_THAT(FaultySlots(*proof), ElementsAre(9));
}

}  // namespace
}  // namespace strata
