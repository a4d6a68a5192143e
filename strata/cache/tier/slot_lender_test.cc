#include "strata/cache/tier/slot_lender.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/fill_queue.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/slot_loan.h"
#include "strata/cache/tier/slot_uses.h"
#include "strata/cache/tier/testing/late_work.h"
#include "strata/cache/tier/testing/tier_pieces.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

class SlotLenderTest : public ::testing::Test {
 protected:
  SlotLenderTest() { pieces_.ShowFirst(); }
  StepGap Gap(int64_t step) {
    uses_.Refresh();
    return {step, uses_.all(), ExpertTable::Wait::kForBuffers};
  }

  TierPieces pieces_{{.image = true}};
  FillQueue fill_{{*pieces_.residency, pieces_.mover, *pieces_.tenants, pieces_.journal}, 4};
  SlotUses uses_{pieces_.device};
  SlotLender lender_{{*pieces_.residency, uses_, fill_, pieces_.journal}};
  const SwapPolicy policy_{pieces_.geometry, {}, {}};
};

TEST_F(SlotLenderTest, MovesTheExpertsOfTheTailOutAndQueuesThemToComeBack) {
  SlotLoan loan = *lender_.Lend(2, Gap(4));
  EXPECT_THAT(pieces_.journal.Take(),
              ElementsAre("4: 1 left 2 for a loan", "4: 9 left 3 for a loan", "4: lent 2"));
  EXPECT_EQ(loan.memory().data(), pieces_.slots->data(2));
  EXPECT_EQ(pieces_.slots->NumIn(SlotState::kLent), 2);
  EXPECT_TRUE(lender_.has_memory());
  loan = SlotLoan();
  EXPECT_FALSE(lender_.has_memory());
  EXPECT_EQ(pieces_.slots->NumIn(SlotState::kEmpty), 2);
  EXPECT_TRUE(fill_.paused()) << "no token is out";
  lender_.FirstTokenOut(policy_);
  EXPECT_FALSE(fill_.paused());
  fill_.StartNext(4, Gap(5));
  pieces_.mover.End();
  ASSERT_TRUE(fill_.Advance(Gap(6)).ok());
  lender_.Advance();
  EXPECT_THAT(pieces_.journal.Take(),
              ElementsAre("6: 1 came to 2 by a refill", "6: 9 came to 3 by a refill", "refilled"));
}

TEST_F(SlotLenderTest, HasTheMemoryUntilTheWorkOfEveryLoanHasEnded) {
  LateWork first(pieces_.device), other(pieces_.device);
  {
    SlotLoan loan = *lender_.Lend(2, Gap(1));
    loan.ReleaseAfter(first.WriteOver(loan.memory()));
    loan.ReleaseAfter(other.WriteOver(loan.memory()));
  }
  {
    const SlotLoan unused = *lender_.Lend(1, Gap(1));
    EXPECT_EQ(unused.ready_after().size(), 2);
  }
  other.LetRun();
  pieces_.device.Drain(other.stream());
  uses_.Refresh();
  EXPECT_TRUE(lender_.has_memory());
  first.LetRun();
  pieces_.device.Drain(first.stream());
  uses_.Refresh();
  EXPECT_FALSE(lender_.has_memory());
}

TEST_F(SlotLenderTest, LendsNothingWhenThePatchIsRefused) {
  pieces_.device.faults().FailNth(HostDeviceFaults::Call::kCopy, 1);
  EXPECT_FALSE(lender_.Lend(2, Gap(1)).ok());
  pieces_.device.ClearError();
  EXPECT_FALSE(lender_.out());
  EXPECT_EQ(pieces_.slots->NumIn(SlotState::kResident), 4);
  EXPECT_TRUE(fill_.done());
}

TEST_F(SlotLenderTest, CountsTheFewestSlotsForSoManyBytes) {
  const int64_t last = pieces_.slots->plan().SlotBytes(3);
  EXPECT_EQ(*lender_.SlotsFor(0), 0);
  EXPECT_EQ(*lender_.SlotsFor(last), 1);
  EXPECT_EQ(*lender_.SlotsFor(last + 1), 2);
  const int64_t all = pieces_.slots->plan().bytes();
  EXPECT_TRUE(absl::IsResourceExhausted(lender_.SlotsFor(all + 1).status()));
}

}  // namespace
}  // namespace strata
