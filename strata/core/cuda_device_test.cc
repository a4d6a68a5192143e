#include "strata/core/cuda_device.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

TEST(CreateCudaDeviceTest, IsUnavailableWhereThereIsNoSuchCard) {
  const absl::Status status = CreateCudaDevice({.ordinal = 1000}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

class CudaDeviceTest : public ::testing::Test {
 protected:
  static constexpr int64_t kBytes = 3 << 20;

  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Device>> device = CreateCudaDevice();
    if (!device.ok()) {
      ASSERT_TRUE(absl::IsUnavailable(device.status())) << device.status();
      GTEST_SKIP() << device.status().message();
    }
    device_ = *std::move(device);
    stream_ = std::move(device_->CreateStream()).value();
    memory_ = std::move(device_->Allocate(kBytes)).value();
    for (int64_t i = 0; i < kBytes; ++i) pattern_[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  void TearDown() override {
    memory_ = DeviceMemory();
    stream_ = DeviceStream();
  }
  std::vector<std::byte> ReadBack() {
    std::vector<std::byte> bytes(kBytes);
    EXPECT_TRUE(device_->CopyToHost(absl::MakeSpan(bytes), memory_.data(), stream_).ok());
    EXPECT_TRUE(device_->Wait(*device_->Record(stream_)).ok());
    return bytes;
  }

  std::unique_ptr<Device> device_;
  DeviceStream stream_;
  DeviceMemory memory_;
  std::vector<std::byte> pattern_{kBytes};
};

TEST_F(CudaDeviceTest, SaysWhatItIs) {
  const DeviceProperties& properties = device_->properties();
  EXPECT_TRUE(properties.is_gpu);
  EXPECT_FALSE(properties.name.empty());
  const DeviceMemoryInfo info = *device_->GetMemoryInfo();
  EXPECT_GT(info.free_bytes, 0);
  EXPECT_GE(info.total_bytes, info.free_bytes);
  std::cout << properties.name << ", registers read-only: " << properties.can_register_read_only
            << ", reads host memory: " << properties.reads_host_memory
            << ", pins count as locked: " << properties.pins_count_as_locked << std::endl;
}

TEST_F(CudaDeviceTest, MovesPageableAndPinnedBytesThereAndBack) {
  ASSERT_TRUE(device_->CopyToDevice(memory_.data(), pattern_, stream_).ok());
  EXPECT_TRUE(ReadBack() == pattern_);

  const PinnedMemory pinned = std::move(device_->AllocatePinned(kBytes)).value();
  std::reverse_copy(pattern_.begin(), pattern_.end(), pinned.data());
  ASSERT_TRUE(
      device_->CopyToDevice(memory_.data(), absl::MakeConstSpan(pinned.data(), kBytes), stream_)
          .ok());
  EXPECT_EQ(std::memcmp(ReadBack().data(), pinned.data(), kBytes), 0);
}

TEST_F(CudaDeviceTest, MovesABatchLargerThanTheQueue) {
  constexpr int64_t kPiece = 8192;
  const PinnedMemory pinned = std::move(device_->AllocatePinned(kBytes)).value();
  std::memcpy(pinned.data(), pattern_.data(), kBytes);
  std::vector<HostToDeviceCopy> copies;
  for (int64_t i = 0; i < kBytes; i += kPiece) {
    copies.push_back({memory_.data() + i, pinned.data() + i, kPiece});
  }
  ASSERT_GT(copies.size(), static_cast<size_t>(Device::kMaxQueuedCopies));
  ASSERT_TRUE(device_->CopyBatchToDevice(copies, stream_).ok());
  EXPECT_TRUE(ReadBack() == pattern_);
}

TEST_F(CudaDeviceTest, CopiesFromARegisteredSlab) {
  PinBudget budget(int64_t{1} << 40, "a test");
  HostMemory memory(*device_, budget);
  const HostBuffer slab =
      std::move(memory.Allocate({.purpose = "test", .unit_bytes = kBytes, .num_units = 1})).value();
  EXPECT_EQ(slab.form(), HostMemoryForm::kRegistered);
  std::memcpy(slab.data(), pattern_.data(), kBytes);
  ASSERT_TRUE(device_->CopyToDevice(memory_.data(), slab.bytes(), stream_).ok());
  EXPECT_TRUE(ReadBack() == pattern_);
}

TEST_F(CudaDeviceTest, AnEventEndsAndIsUsedAgainOnlyWhenNobodyHoldsIt) {
  const DeviceEvent first = *device_->Record(stream_);
  const DeviceEvent second = *device_->Record(stream_);
  EXPECT_NE(first.handle(), second.handle());
  EXPECT_TRUE(device_->Wait(second).ok());
  EXPECT_TRUE(*device_->HasEnded(first));
}

TEST_F(CudaDeviceTest, WorksFromAnyThread) {
  std::thread other(
      [&] { EXPECT_TRUE(device_->CopyToDevice(memory_.data(), pattern_, stream_).ok()); });
  other.join();
  EXPECT_TRUE(ReadBack() == pattern_);
}

TEST_F(CudaDeviceTest, ARefusalNamesTheCallAndTheBytesAndLeavesNoError) {
  const absl::Status refused = device_->Allocate(int64_t{1} << 50).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "cudaMalloc of 1125899906842624 bytes: out of memory (cudaErrorMemoryAllocation)");
  EXPECT_TRUE(device_->CopyToDevice(memory_.data(), pattern_, stream_).ok());
  EXPECT_TRUE(device_->Wait(*device_->Record(stream_)).ok());
}

TEST_F(CudaDeviceTest, RefusesToRegisterTheSameMemoryTwice) {
  void* const pages =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  {
    const auto memory = absl::MakeSpan(static_cast<std::byte*>(pages), kBytes);
    const absl::StatusOr<HostRegistration> first = device_->Register(memory);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_TRUE(absl::IsAlreadyExists(device_->Register(memory).status()));
  }
  munmap(pages, kBytes);
}

}  // namespace
}  // namespace strata
