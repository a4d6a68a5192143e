#include "strata/cache/tier/fill_queue.h"

#include <cstdint>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/testing/tier_pieces.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

class FillQueueTest : public ::testing::Test {
 protected:
  // One chunk from its start until it shows.
  void BringChunk(int64_t step) {
    queue_.StartNext(kChunk, pieces_.Gap(step));
    ASSERT_TRUE(queue_.under_way());
    pieces_.mover.End({.work_ns = 500});
    ASSERT_TRUE(queue_.Advance(pieces_.Gap(step + 1)).ok());
  }

  static constexpr int kChunk = 3;
  TierPieces pieces_;
  FillQueue queue_{{*pieces_.residency, pieces_.mover, *pieces_.tenants, pieces_.journal}, kChunk};
};

TEST_F(FillQueueTest, BringsExpertsInChunksInTheirOrder) {
  queue_.Fill({0, 8, 1, 9}, SlotVerify::kAll);
  EXPECT_EQ(queue_.progress().num_items, 4);
  BringChunk(1);
  EXPECT_EQ(pieces_.mover.copies().verify, SlotVerify::kAll);
  EXPECT_THAT(pieces_.journal.Take(),
              ElementsAre("2: 0 came to 0 by a fill", "2: 8 came to 1 by a fill",
                          "2: 1 came to 2 by a fill"));
  EXPECT_FALSE(queue_.done());
  EXPECT_EQ(queue_.progress().num_done, 3);
  BringChunk(2);
  EXPECT_TRUE(queue_.done());
  EXPECT_EQ(queue_.report().num_experts, 4);
  EXPECT_EQ(queue_.report().num_bytes, queue_.progress().num_bytes);
}

TEST_F(FillQueueTest, ItsRateIsOfTheMoversClockHoweverLateAStepLooks) {
  queue_.Fill({0, 8}, SlotVerify::kNone);
  BringChunk(1);
  EXPECT_DOUBLE_EQ(queue_.report().seconds, 500e-9);
  EXPECT_DOUBLE_EQ(queue_.report().gb_per_s(), queue_.report().num_bytes / 500.0);
}

TEST_F(FillQueueTest, PassesOverExpertsThatHaveASlotAndThoseForWhichThereIsNone) {
  pieces_.Show(1, 0);
  queue_.Fill({1, 0, 2, 8}, SlotVerify::kNone);
  BringChunk(1);
  EXPECT_THAT(pieces_.journal.Take(),
              ElementsAre("2: 0 came to 2 by a fill", "2: 8 came to 1 by a fill"));
  EXPECT_TRUE(queue_.done());
}

TEST_F(FillQueueTest, StartsNothingWhilePausedOrWhileTheMoverIsBusy) {
  queue_.Fill({0}, SlotVerify::kNone);
  queue_.Pause();
  queue_.StartNext(kChunk, pieces_.Gap(1));
  EXPECT_FALSE(queue_.under_way());
  queue_.Resume();
  pieces_.mover.StartAliases({}, {});
  queue_.StartNext(kChunk, pieces_.Gap(1));
  EXPECT_FALSE(queue_.under_way());
}

TEST_F(FillQueueTest, AChunkThatFailsLeavesItsSlotsEmptyAndGoesOnWithTheNext) {
  queue_.Fill({0, 8, 1, 9}, SlotVerify::kNone);
  queue_.StartNext(kChunk, pieces_.Gap(1));
  pieces_.mover.End({.status = absl::DataLossError("a slot")});
  ASSERT_TRUE(queue_.Advance(pieces_.Gap(2)).ok());
  EXPECT_THAT(pieces_.journal.Take(),
              ElementsAre("2: 0 failed to come", "2: 8 failed to come", "2: 1 failed to come"));
  EXPECT_EQ(pieces_.slots->NumIn(SlotState::kEmpty), 4);
  EXPECT_TRUE(absl::IsDataLoss(queue_.report().status));
  BringChunk(3);
  EXPECT_EQ(queue_.report().num_experts, 1);
}

TEST_F(FillQueueTest, WhatWaitsToComeBackStaysBehindAFillThatComesBetween) {
  for (const int expert : {5, 0, 13}) queue_.AddReturning(expert);
  queue_.Fill({0, 8}, SlotVerify::kNone);
  BringChunk(1);
  EXPECT_THAT(pieces_.journal.Take(),
              ElementsAre("2: 0 came to 0 by a refill", "2: 8 came to 1 by a fill",
                          "2: 5 came to 2 by a refill"));
  BringChunk(2);
  EXPECT_THAT(pieces_.journal.Take(), ElementsAre("3: 13 came to 3 by a refill"));
}

TEST_F(FillQueueTest, AnExpertMayReturnAgainAfterItWasPassedOverOrFailedOrCame) {
  pieces_.ShowFirst();
  queue_.AddReturning(5);
  queue_.AddReturning(5);
  queue_.StartNext(kChunk, pieces_.Gap(1));
  EXPECT_TRUE(queue_.done()) << "no slot is empty";
  pieces_.slots->StartDraining(2);
  pieces_.slots->Lend(2);
  pieces_.slots->TakeBack(2);
  queue_.AddReturning(5);
  queue_.StartNext(kChunk, pieces_.Gap(2));
  pieces_.mover.End({.status = absl::DataLossError("a slot")});
  ASSERT_TRUE(queue_.Advance(pieces_.Gap(3)).ok());
  pieces_.journal.Take();
  queue_.AddReturning(5);
  BringChunk(4);
  EXPECT_THAT(pieces_.journal.Take(), ElementsAre("5: 5 came to 2 by a refill"));
}

TEST_F(FillQueueTest, VerifiesTheFirstChunkAloneWhenTheFirstSlotIsAsked) {
  queue_.Fill({0, 8, 1, 9}, SlotVerify::kFirst);
  BringChunk(1);
  EXPECT_EQ(pieces_.mover.copies().verify, SlotVerify::kFirst);
  BringChunk(2);
  EXPECT_EQ(pieces_.mover.copies().verify, SlotVerify::kNone);
}

}  // namespace
}  // namespace strata
