#include "strata/generate/cuda/launch_pace.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "gtest/gtest.h"
#include "strata/core/device.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

TEST(LaunchPaceTest, TheHostIsNoMoreThanTwoLayersAhead) {
  HostDevice device;
  const DeviceStream stream = *device.CreateStream();
  LaunchPace pace(device, stream);
  for (int step = 0; step < 2; ++step) {
    pace.Begin();
    std::atomic<int> num_ended = 0;
    for (int layer = 0; layer < 20; ++layer) {
      device.Launch(stream, [&num_ended] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++num_ended;
      });
      ASSERT_TRUE(pace.EndLayer().ok());
      EXPECT_GE(num_ended, layer - 1) << "layer " << layer;
    }
    device.Drain(stream);
  }
  EXPECT_GT(pace.waited_ms(), 2 * 10);
}

// So the device does not wait for the host between layers.
TEST(LaunchPaceTest, TheHostDoesNotWaitForTheLayersLaunchedLast) {
  HostDevice device;
  const DeviceStream stream = *device.CreateStream();
  LaunchPace pace(device, stream);
  std::atomic<bool> may_end = false;
  for (int layer = 0; layer < 2; ++layer) {
    device.Launch(stream, [&may_end] {
      while (!may_end) std::this_thread::yield();
    });
    ASSERT_TRUE(pace.EndLayer().ok());
  }
  EXPECT_EQ(pace.waited_ms(), 0);
  may_end = true;
  device.Drain(stream);
}

}  // namespace
}  // namespace strata
