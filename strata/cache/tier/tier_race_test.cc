// What the order of a swap protects from, broken on purpose: each must be caught by the checker
// that the other tests trust. Copies are held, so each wrong order happens for certain.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/testing/late_work.h"
#include "strata/cache/tier/testing/tier_machine.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

using Wait = ExpertTable::Wait;

// One slot, which holds expert 0; expert 1 is to come into it. The table has an image, and every
// step of a swap is made by hand.
class TierRaceTest : public ::testing::Test {
 protected:
  static constexpr int kVictim = 0;
  static constexpr int kNewcomer = 1;
  static constexpr int kSlot = 0;

  void SetUp() override {
    registered_.Register(experts_.ids());
    patches_ =
        std::move(StagePool::Create({.stage_bytes = 1024, .num_stages = 8}, memory_)).value();
    table_ = std::move(ExpertTable::CreateWithImage(geometry_.size(), device_, kernels_, *patches_))
                 .value();
    residency_ =
        std::move(Residency::Create(AliasRule::kPinnedOnly, geometry_, source_, *slots_, *table_))
            .value();
    slots_->StartCopy(kSlot, kVictim);
    CopyIntoSlot(kVictim);
    device_.RunHeldCopies();
    ASSERT_TRUE(*residency_->Arrive({{kVictim, kSlot}}, Wait::kNever));
    device_.RunHeldCopies();
  }
  void TearDown() override {
    device_.RunHeldCopies();
    device_.Drain(kernels_);
    residency_.reset();
    table_.reset();
  }

  DeviceEvent CopyIntoSlot(int expert) {
    const HostBlob blob = source_.Locate(geometry_.IdOf(expert));
    for (const HostBlob::Part& part : blob.parts()) {
      EXPECT_TRUE(
          device_.CopyToDevice(slots_->data(kSlot) + part.offset_in_blob, part.bytes, copies_)
              .ok());
    }
    return *device_.Record(copies_);
  }
  // A step of the model that uses both experts.
  int64_t WrongInAStep() {
    StepChecker checker(device_, kernels_, experts_, geometry_, *table_);
    checker.Launch({kVictim, kNewcomer}, /*exactly=*/true);
    device_.Drain(*device_.Record(kernels_));
    return checker.num_wrong();
  }

  const TestExperts experts_{{.num_layers = 1, .num_experts = 4}};
  const ExpertGeometry geometry_ = GeometryOf(experts_, 2);
  HostDevice device_{{.copies = HostDevice::kHeld}};
  PinBudget budget_{int64_t{1} << 40, "a test"};
  HostMemory memory_{device_, budget_};
  BlobReader reader_{experts_.files()};
  RegisteredExperts registered_{experts_.files(), device_, budget_};
  ExpertSource source_{reader_, &registered_, nullptr};
  std::unique_ptr<StagePool> patches_;
  DeviceStream kernels_ = *device_.CreateStream();
  DeviceStream copies_ = *device_.CreateStream();
  std::unique_ptr<SlotCache> slots_ =
      SlotCache::Create(SlotPlan(geometry_, SlotBudget::Slots(1), {}), geometry_.size(), device_);
  std::unique_ptr<ExpertTable> table_;
  std::unique_ptr<Residency> residency_;
};

TEST_F(TierRaceTest, TheRightOrderIsRightAtEveryStep) {
  EXPECT_EQ(WrongInAStep(), 0);
  ASSERT_TRUE(*residency_->Leave({{kVictim, kSlot}}, Wait::kNever));
  device_.RunHeldCopies(kernels_);
  EXPECT_EQ(WrongInAStep(), 0);
  slots_->StartCopy(kSlot, kNewcomer);
  const DeviceEvent copied = CopyIntoSlot(kNewcomer);
  EXPECT_EQ(WrongInAStep(), 0);
  device_.RunHeldCopies(copies_);
  EXPECT_EQ(WrongInAStep(), 0);
  ASSERT_TRUE(*device_.HasEnded(copied));
  ASSERT_TRUE(*residency_->Arrive({{kNewcomer, kSlot}}, Wait::kNever));
  device_.RunHeldCopies(kernels_);
  EXPECT_EQ(WrongInAStep(), 0);
}

TEST_F(TierRaceTest, AnEntryChangedBeforeTheEventOfItsCopyIsCaught) {
  ASSERT_TRUE(*residency_->Leave({{kVictim, kSlot}}, Wait::kNever));
  slots_->StartCopy(kSlot, kNewcomer);
  CopyIntoSlot(kNewcomer);
  ASSERT_TRUE(*residency_->Arrive({{kNewcomer, kSlot}}, Wait::kNever));
  device_.RunHeldCopies(kernels_);
  EXPECT_EQ(WrongInAStep(), 1);
}

TEST_F(TierRaceTest, AVictimWithoutAnAliasIsCaught) {
  // Its entry stays at the slot while the newcomer is copied there.
  CopyIntoSlot(kNewcomer);
  device_.RunHeldCopies(copies_);
  EXPECT_EQ(WrongInAStep(), 1);
}

TEST_F(TierRaceTest, AStepThatWasLaunchedBeforeTheVictimLeftIsCaughtWhenTheCopyDoesNotWaitForIt) {
  // The step waits behind a copy that is held; the copy into the slot does not wait for the step.
  const PinnedMemory source = *device_.AllocatePinned(8);
  const DeviceMemory destination = *device_.Allocate(8);
  ASSERT_TRUE(device_.CopyToDevice(destination.data(), {source.data(), size_t{8}}, kernels_).ok());
  StepChecker checker(device_, kernels_, experts_, geometry_, *table_);
  checker.Launch({kVictim}, /*exactly=*/true);
  const DeviceEvent step = *device_.Record(kernels_);
  ASSERT_TRUE(*residency_->Leave({{kVictim, kSlot}}, Wait::kNever));
  CopyIntoSlot(kNewcomer);
  device_.RunHeldCopies(copies_);
  device_.RunHeldCopies(kernels_);
  device_.Drain(step);
  EXPECT_EQ(checker.num_wrong(), 1);
}

TEST_F(TierRaceTest, ACopyThatDoesNotWaitForTheWorkOfALoanIsCaught) {
  ASSERT_TRUE(*residency_->Leave({{kVictim, kSlot}}, Wait::kNever));
  device_.RunHeldCopies(kernels_);
  LateWork prompt(device_);
  slots_->Lend(kSlot);
  prompt.WriteOver({slots_->data(kSlot), static_cast<size_t>(geometry_.BlobBytes(kVictim))});
  // The loan is over, its work is not, and nobody remembers it.
  slots_->TakeBack(kSlot);
  slots_->StartCopy(kSlot, kNewcomer);
  CopyIntoSlot(kNewcomer);
  device_.RunHeldCopies(copies_);
  ASSERT_TRUE(*residency_->Arrive({{kNewcomer, kSlot}}, Wait::kNever));
  device_.RunHeldCopies(kernels_);
  EXPECT_EQ(WrongInAStep(), 0) << "every check of the slot says that it is right";
  prompt.LetRun();
  device_.Drain(prompt.stream());
  EXPECT_EQ(WrongInAStep(), 1);
}

TEST_F(TierRaceTest, APatchBufferReusedEarlyIsCaught) {
  ASSERT_TRUE(*residency_->Leave({{kVictim, kSlot}}, Wait::kNever));
  // Whoever takes buffers back by age writes the next patch over one that is still on its way.
  ExpertEntry other = table_->entry(2);
  int num_reused = 0;
  for (int64_t at = 0; at < patches_->memory().size(); at += patches_->stage_bytes()) {
    std::byte* const buffer = patches_->memory().data() + at;
    ExpertEntry first;
    std::memcpy(&first, buffer, sizeof(first));
    if (!(first == table_->entry(kVictim))) continue;
    std::memcpy(buffer, &other, sizeof(other));
    ++num_reused;
  }
  ASSERT_GT(num_reused, 0);
  device_.RunHeldCopies(kernels_);
  EXPECT_EQ(WrongInAStep(), 1);
}

TEST_F(TierRaceTest, APlaceOfTheArenaThatIsGivenAwayBeforeItsLastReaderIsCaught) {
  const auto arena =
      std::move(PinnedArena::Create({}, {geometry_.IdOf(2)}, reader_, memory_)).value();
  const std::byte* const place = arena->Find(geometry_.IdOf(2));
  ASSERT_TRUE(*table_->Begin(1, Wait::kNever));
  ExpertEntry entry = {.form = EntryForm::kArena};
  const BlobLayout layout = experts_.files().LayoutOf(geometry_.IdOf(2));
  for (int i = 0; i < layout.num_parts(); ++i) entry.parts[i] = place + layout.offset(i);
  table_->Set(2, entry);
  ASSERT_TRUE(table_->Commit().ok());
  const PinnedMemory source = *device_.AllocatePinned(8);
  const DeviceMemory destination = *device_.Allocate(8);
  ASSERT_TRUE(device_.CopyToDevice(destination.data(), {source.data(), size_t{8}}, kernels_).ok());
  StepChecker checker(device_, kernels_, experts_, geometry_, *table_);
  checker.Launch({2}, /*exactly=*/true);
  const DeviceEvent step = *device_.Record(kernels_);
  // With the step's event the place would not be spare yet.
  arena->Release(geometry_.IdOf(2), DeviceEvent());
  ASSERT_TRUE(arena->Insert(geometry_.IdOf(3)).ok());
  device_.RunHeldCopies(kernels_);
  device_.Drain(step);
  EXPECT_EQ(checker.num_wrong(), 1);
}

}  // namespace
}  // namespace strata
