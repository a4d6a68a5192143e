#include "strata/cache/tier/slot_uses.h"

#include <memory>

#include "gtest/gtest.h"
#include "strata/cache/tier/testing/late_work.h"
#include "strata/core/device_events.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

TEST(SlotUsesTest, KeepsEveryEventOfStepsAndLoansUntilItHasEnded) {
  HostDevice device;
  LateWork step(device), other_step(device), loan(device), other_loan(device);
  SlotUses uses(device);
  uses.AddStep(step.WriteOver({}));
  uses.AddLoan(loan.WriteOver({}));
  uses.AddStep(other_step.WriteOver({}));
  uses.AddLoan(other_loan.WriteOver({}));
  uses.AddLoan({});
  uses.Refresh();
  EXPECT_EQ(uses.all().size(), 4);
  for (LateWork* ended : {&other_step, &other_loan, &step}) {
    ended->LetRun();
    device.Drain(ended->stream());
    uses.Refresh();
    EXPECT_TRUE(uses.by_loans());
  }
  EXPECT_EQ(uses.all().size(), 1);
  loan.LetRun();
  device.Drain(loan.stream());
  uses.Refresh();
  EXPECT_FALSE(uses.by_loans());
  EXPECT_TRUE(uses.all().empty());
}

TEST(SlotUsesTest, ItsEndWaitsForAll) {
  HostDevice device;
  LateWork step(device), loan(device);
  {
    SlotUses uses(device);
    uses.AddStep(step.WriteOver({}));
    uses.AddLoan(loan.WriteOver({}));
    step.LetRunSoon();
    loan.LetRunSoon();
  }
  EXPECT_TRUE(step.has_run());
  EXPECT_TRUE(loan.has_run());
}

}  // namespace
}  // namespace strata
