#include "strata/core/device_events.h"

#include <atomic>

#include "gtest/gtest.h"
#include "strata/core/device.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

class DeviceEventsTest : public ::testing::Test {
 protected:
  // The event of a copy that waits until the test lets the stream run.
  DeviceEvent HeldCopy(const DeviceStream& stream) {
    EXPECT_TRUE(device_.CopyToHost({pinned_.data(), 8}, memory_.data(), stream).ok());
    return *device_.Record(stream);
  }

  HostDevice device_{{.copies = HostDevice::kHeld}};
  const DeviceMemory memory_ = *device_.Allocate(8);
  const PinnedMemory pinned_ = *device_.AllocatePinned(8);
  const DeviceStream one_ = *device_.CreateStream(), other_ = *device_.CreateStream();
};

TEST_F(DeviceEventsTest, EndsWhenTheEventsOfAllStreamsHave) {
  DeviceEvents events = HeldCopy(one_);
  events.Add(HeldCopy(other_));
  EXPECT_FALSE(events.HaveEnded(device_));
  device_.RunHeldCopies(other_);
  device_.Drain(other_);
  EXPECT_FALSE(events.HaveEnded(device_));
  EXPECT_EQ(events.size(), 1);
  device_.RunHeldCopies(one_);
  device_.Drain(one_);
  EXPECT_TRUE(events.HaveEnded(device_));
  EXPECT_TRUE(events.empty());
}

TEST_F(DeviceEventsTest, HoldsEachEventOnceAndNoEmptyOne) {
  const DeviceEvent event = HeldCopy(one_);
  DeviceEvents events = event;
  events.Add(event);
  events.Add(DeviceEvents(event));
  events.Add(DeviceEvent());
  EXPECT_EQ(events.size(), 1);
  EXPECT_TRUE(DeviceEvents(DeviceEvent()).HaveEnded(device_));
  device_.RunHeldCopies();
}

TEST_F(DeviceEventsTest, HoldsAStreamBackUntilAllHaveEnded) {
  DeviceEvents events = HeldCopy(one_);
  events.Add(HeldCopy(other_));
  const DeviceStream late = *device_.CreateStream();
  ASSERT_TRUE(events.HoldBack(device_, late).ok());
  std::atomic<bool> ran = false;
  device_.Launch(late, [&] { ran = true; });
  device_.RunHeldCopies(one_);
  EXPECT_FALSE(ran);
  device_.RunHeldCopies(other_);
  device_.Drain(late);
  EXPECT_TRUE(ran);
}

TEST_F(DeviceEventsTest, HaveNotEndedWhileTheDeviceCannotTell) {
  DeviceEvents events = HeldCopy(one_);
  device_.RunHeldCopies();
  device_.Drain(one_);
  device_.faults().FailNth(HostDeviceFaults::Call::kAllocate, 1);
  EXPECT_FALSE(device_.Allocate(8).ok());  // Its error is what the device says to anything now.
  EXPECT_FALSE(events.HaveEnded(device_));
  EXPECT_TRUE(events.HaveEnded(device_)) << "the error was not cleared";
}

TEST_F(DeviceEventsTest, DrainsAll) {
  HostDevice device;
  const DeviceMemory memory = *device.Allocate(8);
  const PinnedMemory pinned = *device.AllocatePinned(8);
  const DeviceStream one = *device.CreateStream(), other = *device.CreateStream();
  DeviceEvents events;
  std::atomic<int> num_ran = 0;
  for (const DeviceStream* stream : {&one, &other}) {
    device.Launch(*stream, [&] { ++num_ran; });
    events.Add(*device.Record(*stream));
  }
  events.Drain(device);
  EXPECT_EQ(num_ran, 2);
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace strata
