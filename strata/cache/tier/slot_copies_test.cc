#include "strata/cache/tier/slot_copies.h"

#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/testing/late_work.h"
#include "strata/cache/tier/testing/tier_pieces.h"
#include "strata/core/device_events.h"

namespace strata {
namespace {

using Outcome = SlotCopies::Outcome;
using Wait = ExpertTable::Wait;

class SlotCopiesTest : public ::testing::Test {
 protected:
  TierPieces pieces_{{.image = true}};
  SlotCopies copies_{*pieces_.residency, pieces_.mover, 4};
};

TEST_F(SlotCopiesTest, ShowsAllExpertsTogetherOnceTheMoverHasEnded) {
  copies_.Add({0, 0});
  copies_.Add({9, 1});
  EXPECT_EQ(copies_.bytes(), pieces_.geometry.BlobBytes(0) + pieces_.geometry.BlobBytes(9));
  EXPECT_EQ(pieces_.residency->places()[9], SwapPolicy::Place::kBusy);
  copies_.Start({}, SlotVerify::kNone);
  EXPECT_EQ(*copies_.Advance(Wait::kNever), Outcome::kUnderWay);
  pieces_.mover.End({.num_verified = 1});
  EXPECT_EQ(*copies_.Advance(Wait::kNever), Outcome::kShown);
  EXPECT_TRUE(pieces_.InSlot(0) && pieces_.InSlot(9));
  EXPECT_EQ(copies_.work().num_verified, 1);
  copies_.Clear();
  EXPECT_TRUE(copies_.empty());
}

TEST_F(SlotCopiesTest, EmptiesAllSlotsWhenOneCopyFailed) {
  copies_.Add({0, 0});
  copies_.Add({9, 1});
  copies_.Start({}, SlotVerify::kNone);
  pieces_.mover.End({.status = absl::InternalError("a copy")});
  EXPECT_EQ(*copies_.Advance(Wait::kNever), Outcome::kFailed);
  EXPECT_EQ(copies_.work().status.message(), "a copy");
  EXPECT_EQ(pieces_.slots->NumIn(SlotState::kEmpty), 4);
  EXPECT_EQ(pieces_.residency->places()[9], SwapPolicy::Place::kHost);
}

TEST_F(SlotCopiesTest, WaitsForPatchBuffersWithoutForgettingThatItHasCopied) {
  copies_.Add({0, 0});
  copies_.Start({}, SlotVerify::kNone);
  pieces_.mover.End();
  {
    std::vector<StagePool::Stage> all;
    while (auto stage = pieces_.patches->TryAcquire()) all.push_back(*std::move(stage));
    EXPECT_EQ(*copies_.Advance(Wait::kNever), Outcome::kUnderWay);
  }
  EXPECT_FALSE(pieces_.mover.busy());
  EXPECT_EQ(*copies_.Advance(Wait::kNever), Outcome::kShown);
}

TEST_F(SlotCopiesTest, HandsTheMoverWhatMayStillUseTheSlots) {
  LateWork work(pieces_.device);
  copies_.Add({0, 0});
  copies_.Start(work.WriteOver({}), SlotVerify::kSample);
  DeviceEvents after = pieces_.mover.copies().after;
  EXPECT_FALSE(after.HaveEnded(pieces_.device));
  EXPECT_EQ(pieces_.mover.copies().verify, SlotVerify::kSample);
}

}  // namespace
}  // namespace strata
