#include "strata/core/host_device.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/device.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using ::testing::Test;

// A device with a stream, pinned host memory and device memory of the same size.
class HostDeviceTest : public Test {
 protected:
  static constexpr int64_t kBytes = 8192;

  void Make(const HostDevice::Options& options) {
    device_ = std::make_unique<HostDevice>(options);
    stream_ = std::move(device_->CreateStream()).value();
    host_ = std::move(device_->AllocatePinned(kBytes)).value();
    memory_ = std::move(device_->Allocate(kBytes)).value();
    std::memset(memory_.data(), 0, kBytes);
  }
  void TearDown() override {
    stream_ = DeviceStream();
    host_ = PinnedMemory();
    memory_ = DeviceMemory();
  }
  absl::Status CopyAll() {
    return device_->CopyToDevice(memory_.data(), absl::MakeConstSpan(host_.data(), kBytes),
                                 stream_);
  }
  std::byte LastByte() const { return memory_.data()[kBytes - 1]; }

  std::unique_ptr<HostDevice> device_;
  DeviceStream stream_;
  PinnedMemory host_;
  DeviceMemory memory_;
};

TEST_F(HostDeviceTest, MovesBytesToTheDeviceAndBack) {
  Make({});
  std::memset(host_.data(), 7, kBytes);
  ASSERT_TRUE(CopyAll().ok());
  std::vector<std::byte> back(kBytes);
  ASSERT_TRUE(device_->CopyToHost(absl::MakeSpan(back), memory_.data(), stream_).ok());
  EXPECT_EQ(std::memcmp(back.data(), host_.data(), kBytes), 0);
}

TEST_F(HostDeviceTest, ReadsAPinnedSourceWhenTheCopyRunsAndNotWhenItIsQueued) {
  Make({.copies = HostDevice::kHeld});
  std::memset(host_.data(), 1, kBytes);
  ASSERT_TRUE(CopyAll().ok());
  std::memset(host_.data(), 2, kBytes);
  device_->RunHeldCopies();
  EXPECT_EQ(LastByte(), std::byte{2});
}

TEST_F(HostDeviceTest, HasReadAPageableSourceWhenTheCallReturns) {
  Make({.copies = HostDevice::kHeld});
  std::vector<std::byte> pageable(kBytes, std::byte{1});
  ASSERT_TRUE(device_->CopyToDevice(memory_.data(), pageable, stream_).ok());
  std::fill(pageable.begin(), pageable.end(), std::byte{2});
  device_->RunHeldCopies();
  EXPECT_EQ(LastByte(), std::byte{1});
}

TEST_F(HostDeviceTest, AnEventEndsAfterTheCopiesBeforeItAndOnlyThen) {
  Make({.copies = HostDevice::kHeld});
  ASSERT_TRUE(CopyAll().ok());
  const DeviceEvent event = *device_->Record(stream_);
  EXPECT_FALSE(*device_->HasEnded(event));
  device_->RunHeldCopies();
  EXPECT_TRUE(device_->Wait(event).ok());
  EXPECT_TRUE(*device_->HasEnded(event));
}

TEST_F(HostDeviceTest, AnEventIsNotRecordedAnewWhileSomebodyHoldsIt) {
  Make({});
  DeviceEvent first = *device_->Record(stream_);
  const DeviceEvent second = *device_->Record(stream_);
  EXPECT_NE(first.handle(), second.handle());
  void* const handle = first.handle();
  device_->Drain(stream_);
  first = DeviceEvent();
  EXPECT_EQ(device_->Record(stream_)->handle(), handle);
}

TEST_F(HostDeviceTest, RunsTheHeldCopiesOfOneStreamBeforeThoseOfAnother) {
  Make({.copies = HostDevice::kHeld});
  const DeviceStream other = *device_->CreateStream();
  const std::vector<std::byte> ones(kBytes, std::byte{1}), twos(kBytes, std::byte{2});
  ASSERT_TRUE(device_->CopyToDevice(memory_.data(), ones, stream_).ok());
  ASSERT_TRUE(device_->CopyToDevice(memory_.data(), twos, other).ok());
  device_->RunHeldCopies(other);
  EXPECT_EQ(LastByte(), std::byte{2});
  device_->RunHeldCopies(stream_);
  EXPECT_EQ(LastByte(), std::byte{1});
}

TEST_F(HostDeviceTest, AStreamThatWaitsForAnEventRunsAfterIt) {
  Make({.copies = HostDevice::kHeld});
  const DeviceStream other = *device_->CreateStream();
  ASSERT_TRUE(CopyAll().ok());
  const DeviceEvent copied = *device_->Record(stream_);
  ASSERT_TRUE(device_->StreamWait(other, copied).ok());
  const DeviceEvent behind = *device_->Record(other);
  EXPECT_FALSE(*device_->HasEnded(behind));
  device_->RunHeldCopies();
  EXPECT_TRUE(device_->Wait(behind).ok());
}

TEST_F(HostDeviceTest, ABatchMovesEveryCopyInWhateverOrder) {
  Make({.max_delay_yields = 3, .shuffle_batches = true});
  std::vector<HostToDeviceCopy> copies;
  for (int64_t i = 0; i < kBytes; i += 64) {
    std::memset(host_.data() + i, static_cast<int>(i / 64), 64);
    copies.push_back({memory_.data() + i, host_.data() + i, 64});
  }
  ASSERT_TRUE(device_->CopyBatchToDevice(copies, stream_).ok());
  ASSERT_TRUE(device_->Wait(*device_->Record(stream_)).ok());
  EXPECT_EQ(std::memcmp(memory_.data(), host_.data(), kBytes), 0);
}

TEST_F(HostDeviceTest, AnErrorComesBackFromLaterCallsUntilItIsCleared) {
  Make({});
  device_->faults().FailNth(Call::kRegister, 1);
  std::vector<std::byte> memory(100);
  const absl::Status refused = device_->Register(absl::MakeSpan(memory)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(CopyAll(), refused);
  EXPECT_EQ(device_->Record(stream_).status(), refused);
  device_->ClearError();
  EXPECT_TRUE(CopyAll().ok());
}

TEST_F(HostDeviceTest, EachCallFailsAtTheNthTimeAndNamesItselfAndTheBytes) {
  Make({});
  const auto copy = [&] { return CopyAll(); };
  device_->faults().FailNth(Call::kCopy, 3);
  EXPECT_TRUE(copy().ok());
  EXPECT_TRUE(copy().ok());
  EXPECT_EQ(copy().message(), "HostDevice copy of 8192 bytes: a fault of the test's plan");
  device_->ClearError();
  EXPECT_TRUE(copy().ok());
  device_->faults().FailNth(Call::kAllocate, 1);
  EXPECT_TRUE(absl::IsResourceExhausted(device_->Allocate(5).status()));
  device_->ClearError();
  device_->faults().FailNth(Call::kRecord, 1);
  EXPECT_TRUE(absl::IsInternal(device_->Record(stream_).status()));
  device_->ClearError();
}

TEST_F(HostDeviceTest, ACopyThatFailsWhileItRunsFailsTheEventsBehindItUntilTheStreamIsDrained) {
  Make({.copies = HostDevice::kHeld});
  std::memset(host_.data(), 9, kBytes);
  ASSERT_TRUE(CopyAll().ok());
  const DeviceEvent event = *device_->Record(stream_);
  device_->faults().FailNth(Call::kRunCopy, 1);
  device_->RunHeldCopies();
  device_->Drain(event);
  device_->ClearError();  // Somebody else's clearing does not hide it.
  EXPECT_TRUE(*device_->HasEnded(event));
  EXPECT_TRUE(absl::IsInternal(device_->Wait(event)));
  EXPECT_EQ(LastByte(), std::byte{0});
  EXPECT_FALSE(device_->Wait(*device_->Record(stream_)).ok());
  device_->Drain(stream_);
  EXPECT_TRUE(device_->Wait(*device_->Record(stream_)).ok());
}

TEST_F(HostDeviceTest, LaunchesAKernelInItsTurnAndEndsItsEventAfterIt) {
  Make({.copies = HostDevice::kHeld});
  std::memset(host_.data(), 5, kBytes);
  ASSERT_TRUE(CopyAll().ok());
  std::byte seen = {};
  device_->Launch(stream_, [&] { seen = LastByte(); });
  const DeviceEvent event = *device_->Record(stream_);
  EXPECT_FALSE(*device_->HasEnded(event));
  device_->RunHeldCopies();
  ASSERT_TRUE(device_->Wait(event).ok());
  EXPECT_EQ(seen, std::byte{5});
}

TEST_F(HostDeviceTest, DoesNotRunAKernelBehindACopyThatFailed) {
  Make({});
  device_->faults().FailNth(Call::kRunCopy, 1);
  ASSERT_TRUE(CopyAll().ok());
  bool ran = false;
  device_->Launch(stream_, [&] { ran = true; });
  device_->Drain(stream_);
  EXPECT_FALSE(ran);
  device_->Launch(stream_, [&] { ran = true; });
  device_->Drain(stream_);
  EXPECT_TRUE(ran);
}

TEST_F(HostDeviceTest, RefusesMoreMemoryThanItHas) {
  Make({.memory_bytes = 3 * kBytes});
  EXPECT_EQ(device_->GetMemoryInfo()->free_bytes, 2 * kBytes);
  const absl::Status refused = device_->Allocate(2 * kBytes + 1).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  device_->ClearError();
  EXPECT_TRUE(device_->Allocate(2 * kBytes).ok());
}

TEST_F(HostDeviceTest, RefusesToPinMoreThanItsLimitOrTheSameMemoryTwice) {
  Make({.pin_limit_bytes = 2 * kBytes});
  EXPECT_EQ(device_->pinned_bytes(), kBytes);
  std::vector<std::byte> memory(kBytes + 1);
  EXPECT_TRUE(absl::IsResourceExhausted(device_->Register(absl::MakeSpan(memory)).status()));
  device_->ClearError();
  const auto half = absl::MakeSpan(memory.data(), kBytes / 2);
  const auto registered = device_->Register(half);
  ASSERT_TRUE(registered.ok());
  EXPECT_TRUE(absl::IsAlreadyExists(device_->Register(half.subspan(5, 9)).status()));
  device_->ClearError();
}

TEST_F(HostDeviceTest, PinsAMappingInPlaceOnlyWhenItIsSharedAndReadOnly) {
  Make({});
  const auto pin = [&](int protection, int sharing) {
    void* const mapping = mmap(nullptr, kBytes, protection, sharing | MAP_ANONYMOUS, -1, 0);
    const absl::Status status =
        device_->RegisterReadOnly({static_cast<std::byte*>(mapping), size_t{kBytes}}).status();
    device_->ClearError();
    munmap(mapping, kBytes);
    return status;
  };
  EXPECT_TRUE(pin(PROT_READ, MAP_SHARED).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(pin(PROT_READ, MAP_PRIVATE)));
  EXPECT_TRUE(absl::IsInvalidArgument(pin(PROT_READ | PROT_WRITE, MAP_SHARED)));
}

}  // namespace
}  // namespace strata
