#include "strata/generate/benchmark/link_rate.h"

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/core/host_device.h"
#include "strata/core/host_device_faults.h"

namespace strata {
namespace {

TEST(LinkRateTest, IsTheRateOfTheDevicesCopies) {
  HostDevice device({.copy_bytes_per_second = 2e9});
  const absl::StatusOr<double> rate = MeasureLink(device);
  ASSERT_TRUE(rate.ok()) << rate.status();
  EXPECT_LE(*rate, 2.1e9);
  EXPECT_GT(*rate, 0);
}

TEST(LinkRateTest, SaysWhatTheDeviceRefuses) {
  HostDevice device;
  device.faults().FailNth(HostDeviceFaults::Call::kAllocatePinned, 1);
  EXPECT_FALSE(MeasureLink(device).ok());
  device.ClearError();
}

}  // namespace
}  // namespace strata
