#include "strata/cache/tier/swap_round.h"

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/testing/tier_pieces.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SwapRoundTest : public ::testing::Test {
 protected:
  void Make(const TierPieces::Options& options) {
    pieces_ = std::make_unique<TierPieces>(options);
    pieces_->ShowFirst();
    round_ =
        std::make_unique<SwapRound>(SwapRound::Collaborators{*pieces_->residency, pieces_->mover,
                                                             *pieces_->tenants, pieces_->journal},
                                    4);
  }
  void Start(int64_t step, const std::vector<SwapPolicy::Swap>& swaps) {
    round_->Start(swaps, {}, pieces_->Gap(step));
  }
  absl::Status Advance(int64_t step) { return round_->Advance(pieces_->Gap(step)); }

  std::unique_ptr<TierPieces> pieces_;
  std::unique_ptr<SwapRound> round_;
};

TEST_F(SwapRoundTest, MovesVictimsOutThenCopiesThenShowsEachBeforeAStep) {
  Make({});
  Start(5, {pieces_->Swap(3, 1), pieces_->Swap(11, 8)});
  EXPECT_THAT(pieces_->journal.Take(), ElementsAre("5: decided 3 for 1", "5: decided 11 for 8"));
  ASSERT_TRUE(Advance(5).ok());
  EXPECT_THAT(pieces_->journal.Take(),
              ElementsAre("5: 1 left 2 for a swap", "5: 8 left 1 for a swap"));
  EXPECT_FALSE(pieces_->InSlot(1));
  ASSERT_EQ(pieces_->mover.copies().items.size(), 2u);
  EXPECT_EQ(pieces_->mover.copies().items[0].destination, pieces_->slots->data(2));
  ASSERT_TRUE(Advance(6).ok());
  EXPECT_THAT(pieces_->journal.Take(), IsEmpty()) << "the mover is at work";
  pieces_->mover.End({.work_ns = 70});
  ASSERT_TRUE(Advance(7).ok());
  EXPECT_THAT(pieces_->journal.Take(),
              ElementsAre("7: visible 3 for 1 in 2", "7: visible 11 for 8 in 1"));
  EXPECT_TRUE(pieces_->InSlot(3));
  EXPECT_TRUE(round_->idle());
  EXPECT_EQ(round_->mover_ns(), 70);
}

TEST_F(SwapRoundTest, TakesAnEmptySlotForANewcomerWithoutAVictim) {
  Make({});
  pieces_->slots->StartDraining(0);
  pieces_->slots->StartCopy(0, 5);
  pieces_->slots->EndCopy(0, false);
  Start(1, {pieces_->Swap(3, -1)});
  ASSERT_TRUE(Advance(1).ok());
  pieces_->mover.End();
  ASSERT_TRUE(Advance(2).ok());
  EXPECT_EQ(pieces_->slots->SlotOf(3), 0);
}

TEST_F(SwapRoundTest, CopiesThatFailLeaveEntriesAtTheAliasesAndSlotsEmpty) {
  Make({});
  Start(1, {pieces_->Swap(3, 1)});
  ASSERT_TRUE(Advance(1).ok());
  pieces_->mover.End({.status = absl::DataLossError("a slot")});
  ASSERT_TRUE(Advance(2).ok());
  EXPECT_TRUE(round_->idle());
  EXPECT_THAT(pieces_->journal.Take(),
              ElementsAre("1: decided 3 for 1", "1: 1 left 2 for a swap", "2: failed 3 for 1"));
  EXPECT_EQ(pieces_->slots->state(2), SlotState::kEmpty);
  EXPECT_FALSE(pieces_->InSlot(1) || pieces_->InSlot(3));
}

TEST_F(SwapRoundTest, AVictimGetsAPlaceOfTheArenaFirstAndTheNewcomersIsSpareAfterwards) {
  Make({.arena = true});
  const int num_spare = pieces_->arena->num_spare_places();
  Start(1, {pieces_->Swap(3, 1)});
  EXPECT_THAT(pieces_->mover.aliases(), ElementsAre(pieces_->geometry.IdOf(1)));
  ASSERT_TRUE(Advance(1).ok());
  EXPECT_TRUE(pieces_->InSlot(1)) << "it has no alias yet";
  ASSERT_TRUE(pieces_->arena->Insert(pieces_->geometry.IdOf(1)).ok());
  pieces_->mover.EndAliases({true});
  ASSERT_TRUE(Advance(2).ok());
  EXPECT_EQ(pieces_->table->entry(1).form, EntryForm::kArena);
  pieces_->mover.End();
  ASSERT_TRUE(Advance(3).ok());
  pieces_->tenants->GiveBack({});
  EXPECT_FALSE(pieces_->InArena(3));
  EXPECT_TRUE(pieces_->InArena(1));
  EXPECT_EQ(pieces_->arena->num_spare_places(), num_spare);
}

TEST_F(SwapRoundTest, DropsASwapWhoseVictimGetsNoPlace) {
  Make({.arena = true});
  Start(1, {pieces_->Swap(3, 1), pieces_->Swap(11, 8)});
  ASSERT_TRUE(pieces_->arena->Insert(pieces_->geometry.IdOf(8)).ok());
  pieces_->mover.EndAliases({false, true});
  pieces_->journal.Take();
  ASSERT_TRUE(Advance(2).ok());
  EXPECT_THAT(pieces_->journal.Take(), ElementsAre("2: dropped 3 for 1", "2: 8 left 1 for a swap"));
  EXPECT_EQ(pieces_->residency->places()[3], SwapPolicy::Place::kHost);
  EXPECT_EQ(pieces_->residency->places()[1], SwapPolicy::Place::kSlot);
}

TEST_F(SwapRoundTest, AVictimGetsASurplusPlaceThoughItsNewcomerLeavesNone) {
  Make({.arena = true});
  // As after a loan: expert 3 has no place, which is spare.
  pieces_->arena->Release(pieces_->geometry.IdOf(3), {});
  Start(1, {pieces_->Swap(3, 1), pieces_->Swap(11, 8)});
  EXPECT_THAT(pieces_->mover.aliases(),
              ElementsAre(pieces_->geometry.IdOf(1), pieces_->geometry.IdOf(8)));
  pieces_->mover.EndAliases({false, true});
  pieces_->journal.Take();
  ASSERT_TRUE(Advance(2).ok());
  EXPECT_THAT(pieces_->journal.Take(),
              ElementsAre("2: 1 left 2 for a swap", "2: 8 left 1 for a swap"))
      << "a surplus place that is not to be had drops nothing";
  pieces_->mover.End();
}

TEST_F(SwapRoundTest, AVictimGetsNoPlaceThatSwapsNeedWhenItsNewcomerLeavesNone) {
  Make({.arena = true});
  pieces_->arena->Release(pieces_->geometry.IdOf(3), {});
  ASSERT_TRUE(pieces_->arena->Insert(pieces_->geometry.IdOf(0)).ok());
  Start(1, {pieces_->Swap(3, 1)});
  EXPECT_FALSE(pieces_->mover.busy());
  ASSERT_TRUE(Advance(1).ok());
  EXPECT_FALSE(pieces_->InSlot(1));
  pieces_->mover.End();
}

TEST_F(SwapRoundTest, ARoundThatIsDroppedGivesThePlacesOfItsVictimsBack) {
  Make({.arena = true});
  const int num_spare = pieces_->arena->num_spare_places();
  Start(1, {pieces_->Swap(3, 1)});
  ASSERT_TRUE(pieces_->arena->Insert(pieces_->geometry.IdOf(1)).ok());
  pieces_->mover.EndAliases({true});
  round_->DropUnstarted(pieces_->Gap(2));
  EXPECT_TRUE(round_->idle());
  pieces_->tenants->GiveBack({});
  EXPECT_FALSE(pieces_->InArena(1));
  EXPECT_EQ(pieces_->arena->num_spare_places(), num_spare);
}

TEST_F(SwapRoundTest, APlaceThatARefusedPatchMayHaveNamedIsKeptUntilTheTableIsSure) {
  Make({.arena = true, .image = true});
  Start(1, {pieces_->Swap(3, 1)});
  ASSERT_TRUE(pieces_->arena->Insert(pieces_->geometry.IdOf(1)).ok());
  pieces_->mover.EndAliases({true});
  pieces_->device.faults().FailNth(HostDeviceFaults::Call::kCopy, 1);
  EXPECT_FALSE(Advance(2).ok());
  pieces_->device.ClearError();
  EXPECT_TRUE(pieces_->InSlot(1)) << "nothing has changed for the host";
  round_->DropUnstarted(pieces_->Gap(2));
  pieces_->tenants->GiveBack({});
  EXPECT_TRUE(pieces_->InArena(1)) << "the image may point there";
  ASSERT_TRUE(*pieces_->table->Begin(0, ExpertTable::Wait::kForBuffers));
  pieces_->tenants->GiveBack({});
  EXPECT_FALSE(pieces_->InArena(1));
}

TEST_F(SwapRoundTest, StandsBackWhileTheTableHasNoBuffers) {
  Make({.image = true});
  std::vector<StagePool::Stage> all;
  while (auto stage = pieces_->patches->TryAcquire()) all.push_back(*std::move(stage));
  Start(1, {pieces_->Swap(3, 1)});
  pieces_->journal.Take();
  ASSERT_TRUE(Advance(1).ok());
  EXPECT_THAT(pieces_->journal.Take(), ElementsAre("1: postponed"));
  all.clear();
  ASSERT_TRUE(Advance(2).ok());
  EXPECT_THAT(pieces_->journal.Take(), ElementsAre("2: 1 left 2 for a swap"));
  pieces_->mover.End();
}

}  // namespace
}  // namespace strata
