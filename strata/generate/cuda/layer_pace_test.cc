#include "strata/generate/cuda/layer_pace.h"

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "strata/core/device.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

TEST(LayerPaceTest, IsOneLayerAheadOfTheDeviceWhenItAsks) {
  constexpr int kLayers = 20;
  HostDevice device;
  const DeviceStream stream = device.CreateStream().value();
  std::array<std::atomic<bool>, kLayers> ended = {};
  std::atomic<int> num_asked = 0;
  const std::function<bool()> should_stop = [&] {
    const int layer = num_asked;
    EXPECT_TRUE(layer == 0 || ended[static_cast<size_t>(layer - 1)]) << layer;
    EXPECT_FALSE(ended[static_cast<size_t>(layer)]) << layer;
    ++num_asked;
    return false;
  };
  LayerPace pace(device, stream);
  pace.Begin(&should_stop);
  for (int layer = 0; layer < kLayers; ++layer) {
    device.Launch(stream, [&, layer] {
      // It cannot end before the question that follows it: who waited for it would wait for ever.
      while (num_asked <= layer) std::this_thread::yield();
      ended[static_cast<size_t>(layer)] = true;
    });
    ASSERT_TRUE(pace.EndLayer().ok());
  }
  EXPECT_EQ(num_asked, kLayers);
  device.Drain(stream);
}

TEST(LayerPaceTest, StopsWhenTheAnswerIsYesAndNeverWaitsWhereNobodyAsks) {
  HostDevice device;
  const DeviceStream stream = device.CreateStream().value();
  LayerPace pace(device, stream);
  int num_asked = 0;
  const std::function<bool()> should_stop = [&] { return ++num_asked == 3; };
  pace.Begin(&should_stop);
  EXPECT_TRUE(pace.EndLayer().ok());
  EXPECT_TRUE(pace.EndLayer().ok());
  EXPECT_EQ(pace.EndLayer().code(), absl::StatusCode::kCancelled);
  std::atomic<bool> may_end = false;
  device.Launch(stream, [&] {
    while (!may_end) std::this_thread::yield();
  });
  pace.Begin(nullptr);
  for (int layer = 0; layer < 3; ++layer) EXPECT_TRUE(pace.EndLayer().ok());
  may_end = true;
  device.Drain(stream);
}

}  // namespace
}  // namespace strata
