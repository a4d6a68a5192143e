#include "strata/cache/host/registered_experts.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/core/host_device.h"
#include "strata/core/log_capture.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using ::testing::HasSubstr;

class RegisteredExpertsTest : public ::testing::Test {
 protected:
  int NumHeld(const RegisteredExperts& registered) const {
    int num_held = 0;
    for (const ExpertId id : experts_.ids()) num_held += registered.Holds(id);
    return num_held;
  }

  const TestExperts experts_;
  PinBudget plenty_{int64_t{1} << 40, "a test"};
  LogCapture log_;
};

TEST_F(RegisteredExpertsTest, PinsEveryExpertOfAllShardsWhenItMay) {
  HostDevice device;
  RegisteredExperts registered(experts_.files(), device, plenty_);
  EXPECT_EQ(registered.Register(experts_.ids()), 16);
  EXPECT_EQ(NumHeld(registered), 16);
  EXPECT_EQ(device.pinned_bytes(), registered.registered_bytes());
  EXPECT_TRUE(log_.warnings().empty());
}

TEST_F(RegisteredExpertsTest, PinsTheHottestThatTheBudgetAllowsAndSaysSoOnce) {
  HostDevice device;
  PinBudget budget(100000, "--pin_budget");
  RegisteredExperts registered(experts_.files(), device, budget);
  std::vector<ExpertId> hottest(experts_.ids().rbegin(), experts_.ids().rend());
  const int num_pinned = registered.Register(hottest);
  EXPECT_GT(num_pinned, 2);
  EXPECT_LT(num_pinned, 8);
  for (int i = 0; i < num_pinned; ++i) EXPECT_TRUE(registered.Holds(hottest[i]));
  EXPECT_LE(budget.reserved_bytes(), 100000);
  ASSERT_EQ(log_.warnings().size(), 1u);
  EXPECT_THAT(log_.warnings()[0], HasSubstr("asked to pin 16 experts in place, got "));
  EXPECT_THAT(log_.warnings()[0], HasSubstr("the pin budget (--pin_budget)"));
}

TEST_F(RegisteredExpertsTest, PinsFewerWhenTheDriverRunsOut) {
  HostDevice device({.pin_limit_bytes = 100000});
  RegisteredExperts registered(experts_.files(), device, plenty_);
  const int num_pinned = registered.Register(experts_.ids());
  EXPECT_GT(num_pinned, 0);
  EXPECT_EQ(NumHeld(registered), num_pinned);
  EXPECT_EQ(device.pinned_bytes(), plenty_.reserved_bytes());
  ASSERT_EQ(log_.warnings().size(), 1u);
  EXPECT_THAT(log_.warnings()[0], HasSubstr("out of memory"));
}

TEST_F(RegisteredExpertsTest, HoldsNothingWhereTheDeviceCannotPinFiles) {
  HostDevice device({.can_register_read_only = false});
  RegisteredExperts registered(experts_.files(), device, plenty_);
  EXPECT_EQ(registered.Register(experts_.ids()), 0);
  EXPECT_EQ(NumHeld(registered), 0);
  EXPECT_EQ(log_.warnings().size(), 1u);
}

TEST_F(RegisteredExpertsTest, IsRightWhicheverRegistrationIsRefused) {
  for (int n = 1; n <= 12; ++n) {
    HostDevice device;
    RegisteredExperts registered(experts_.files(), device, plenty_, /*max_piece_bytes=*/32 << 10);
    device.faults().FailNth(Call::kRegister, n);
    const int num_pinned = registered.Register(experts_.ids());
    EXPECT_EQ(num_pinned, NumHeld(registered));
    EXPECT_EQ(device.pinned_bytes(), registered.registered_bytes());
    EXPECT_TRUE(device.GetMemoryInfo().ok());
  }
}

}  // namespace
}  // namespace strata
