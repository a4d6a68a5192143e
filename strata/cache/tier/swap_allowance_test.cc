#include "strata/cache/tier/swap_allowance.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(SwapAllowanceTest, LetsAsMuchTimePassAsMakesTheWorkItsShare) {
  SwapAllowance allowance(0.02);
  EXPECT_TRUE(allowance.allows(0));
  allowance.Charge(100, /*now_ns=*/1000);
  EXPECT_FALSE(allowance.allows(1000 + 4899));
  EXPECT_TRUE(allowance.allows(1000 + 4900)) << "100 of 5,000";
}

TEST(SwapAllowanceTest, AddsWhatIsChargedBeforeThePauseIsOver) {
  SwapAllowance allowance(0.5);
  allowance.Charge(100, 1000);
  allowance.Charge(50, 1010);
  EXPECT_FALSE(allowance.allows(1149));
  EXPECT_TRUE(allowance.allows(1150));
}

TEST(SwapAllowanceTest, TakesNoMoreThanTheShareInTheLongRun) {
  SwapAllowance allowance(0.1);
  int64_t now = 0, worked = 0;
  for (int step = 0; step < 100000; ++step) {
    now += 10;
    if (!allowance.allows(now)) continue;
    const int64_t work = 1 + step % 77;
    now += work;
    worked += work;
    allowance.Charge(work, now);
  }
  EXPECT_LE(worked, now / 10);
  EXPECT_GT(worked, now / 20);
}

TEST(SwapAllowanceTest, LimitsNothingWithAShareOfOne) {
  SwapAllowance allowance(1);
  allowance.Charge(int64_t{1} << 40, 1000);
  EXPECT_TRUE(allowance.allows(1000));
}

}  // namespace
}  // namespace strata
