#include "strata/cache/tier/slot_cache.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/core/host_device.h"
#include "strata/core/log_capture.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SlotCacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<SlotCache> Make(int num_slots) {
    return SlotCache::Create(SlotPlan(geometry_, SlotBudget::Slots(num_slots), {}),
                             geometry_.size(), device_);
  }

  // Slots of the default ranking are of 512, 1,024, 512, 1,024 ... bytes.
  const ExpertGeometry geometry_{
      {{.block = 0, .blob_bytes = 512}, {.block = 1, .blob_bytes = 1024}}, 8, 2};
  HostDevice device_;
};

TEST_F(SlotCacheTest, CutsOneArenaIntoSlotsThatFollowEachOther) {
  const auto slots = Make(4);
  EXPECT_EQ(slots->memory().size(), 512 + 1024 + 512 + 1024);
  EXPECT_EQ(slots->data(2), slots->data(0) + 512 + 1024);
  EXPECT_EQ(slots->NumIn(SlotState::kEmpty), 4);
  EXPECT_THAT(slots->num_empty(), ElementsAre(2, 2));
}

TEST_F(SlotCacheTest, FollowsAnExpertFromCopyToDrain) {
  const auto slots = Make(4);
  slots->StartCopy(1, 8);
  EXPECT_EQ(slots->SlotOf(8), 1);
  EXPECT_FALSE(slots->IsResident(8));
  slots->EndCopy(1, true);
  EXPECT_TRUE(slots->IsResident(8));
  slots->StartDraining(1);
  EXPECT_EQ(slots->SlotOf(8), SlotCache::kNone);
  slots->StartCopy(1, 9);
  slots->EndCopy(1, false);
  EXPECT_EQ(slots->state(1), SlotState::kEmpty);
  EXPECT_EQ(slots->SlotOf(9), SlotCache::kNone);
}

TEST_F(SlotCacheTest, FindsTheFirstEmptySlotOfASizeClass) {
  const auto slots = Make(6);
  EXPECT_EQ(slots->FindEmpty(0), 0);
  EXPECT_EQ(slots->FindEmpty(1), 1);
  slots->StartCopy(0, 0);
  EXPECT_EQ(slots->FindEmpty(0), 2);
  slots->EndCopy(0, false);
  EXPECT_EQ(slots->FindEmpty(0), 0) << "an earlier slot is empty again";
  for (const int slot : {0, 2, 4}) slots->StartCopy(slot, slot / 2);
  EXPECT_EQ(slots->FindEmpty(0), SlotCache::kNone);
  EXPECT_EQ(slots->FindEmpty(1), 1);
  slots->EndCopy(2, false);
  EXPECT_EQ(slots->FindEmpty(0), 2);
}

TEST_F(SlotCacheTest, LendsEmptyAndDrainingSlotsAndTakesThemBackEmpty) {
  const auto slots = Make(2);
  slots->StartCopy(1, 8);
  slots->EndCopy(1, true);
  slots->StartDraining(1);
  slots->Lend(0);
  slots->Lend(1);
  EXPECT_EQ(slots->NumIn(SlotState::kLent), 2);
  EXPECT_THAT(slots->num_empty(), ElementsAre(0, 0));
  slots->TakeBack(0);
  slots->TakeBack(1);
  EXPECT_THAT(slots->num_empty(), ElementsAre(1, 1));
}

using SlotCacheDeathTest = SlotCacheTest;

TEST_F(SlotCacheDeathTest, RefusesTransitionsThatThereAreNot) {
  const auto slots = Make(4);
  EXPECT_DEATH(slots->EndCopy(0, true), "slot 0 is empty");
  EXPECT_DEATH(slots->StartDraining(0), "slot 0 is empty");
  EXPECT_DEATH(slots->TakeBack(0), "slot 0 is empty");
  slots->StartCopy(0, 3);
  EXPECT_DEATH(slots->StartCopy(0, 4), "slot 0 is copying");
  EXPECT_DEATH(slots->Lend(0), "slot 0 is copying");
  EXPECT_DEATH(slots->StartDraining(0), "slot 0 is copying");
  EXPECT_DEATH(slots->StartCopy(2, 3), "expert 3 has a slot already");
  slots->EndCopy(0, true);
  EXPECT_DEATH(slots->Lend(0), "slot 0 is resident");
  EXPECT_DEATH(slots->StartCopy(0, 4), "slot 0 is resident");
}

TEST_F(SlotCacheTest, HasFewerSlotsWhenTheDeviceHasLessMemoryAndSaysSoOnce) {
  HostDevice small({.memory_bytes = 5000});
  LogCapture log;
  const SlotPlan plan(geometry_, SlotBudget::Slots(16), {});
  const auto slots = SlotCache::Create(plan, geometry_.size(), small);
  EXPECT_GT(slots->num_slots(), 4);
  EXPECT_LE(slots->memory().size(), 5000);
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_THAT(log.warnings()[0], HasSubstr("16 slots"));
  EXPECT_TRUE(small.Allocate(16).ok()) << "the refusal came back";
}

TEST_F(SlotCacheTest, LeavesWhatIsToStayFreeThoughOthersHaveTakenMemorySinceItWasPlanned) {
  HostDevice device({.memory_bytes = 20000});
  const DeviceMemory others = *device.Allocate(7000);
  LogCapture log;
  const SlotPlan plan(geometry_, SlotBudget::Bytes(12288), {});  // All 16.
  ASSERT_EQ(plan.num_slots(), 16);
  const auto slots = SlotCache::Create(plan, geometry_.size(), device, 4000);
  EXPECT_GE(device.GetMemoryInfo()->free_bytes, 4000);
  EXPECT_LT(device.GetMemoryInfo()->free_bytes, 4000 + 512 + 1024) << "no more than has to be";
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_THAT(log.warnings()[0], HasSubstr("4000 that stay free"));
}

TEST_F(SlotCacheTest, HasAllSlotsWhereEnoughStaysFree) {
  HostDevice device({.memory_bytes = 16288});
  LogCapture log;
  const SlotPlan plan(geometry_, SlotBudget::Slots(16), {});
  EXPECT_EQ(SlotCache::Create(plan, geometry_.size(), device, 4000)->num_slots(), 16);
  EXPECT_TRUE(log.warnings().empty());
}

TEST_F(SlotCacheTest, HasNoSlotsWhenThereIsNoMemoryAtAll) {
  device_.faults().FailFrom(HostDeviceFaults::Call::kAllocate, 1);
  const auto slots = Make(16);
  EXPECT_EQ(slots->num_slots(), 0);
  EXPECT_EQ(slots->FindEmpty(0), SlotCache::kNone);
}

}  // namespace
}  // namespace strata
