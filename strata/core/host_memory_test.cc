#include "strata/core/host_memory.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/host_device.h"
#include "strata/core/log_capture.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using ::testing::HasSubstr;

constexpr int64_t kUnit = 64 << 10;
constexpr HostMemory::Request kThirtyTwo = {
    .purpose = "stage pool", .unit_bytes = kUnit, .num_units = 32, .min_units = 4};

TEST(HostMemoryTest, PinsOneSlabAndUnpinsItAtTheEnd) {
  HostDevice device;
  PinBudget budget(int64_t{1} << 40, "a test");
  HostMemory memory(device, budget);
  {
    const HostBuffer buffer = std::move(memory.Allocate(kThirtyTwo)).value();
    EXPECT_EQ(buffer.form(), HostMemoryForm::kRegistered);
    EXPECT_EQ(buffer.size(), 32 * kUnit);
    EXPECT_EQ(device.pinned_bytes(), 32 * kUnit);
    EXPECT_EQ(budget.reserved_bytes(), 32 * kUnit);
    EXPECT_EQ(device.faults().num_calls(Call::kRegister), 1);
    EXPECT_THAT(buffer.Describe(), HasSubstr("2.0 MiB registered in "));
    std::memset(buffer.data(), 1, buffer.size());
  }
  EXPECT_EQ(device.pinned_bytes(), 0);
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

TEST(HostMemoryTest, AnAssignedBufferEndsWhatItHeldBefore) {
  HostDevice device;
  PinBudget budget(int64_t{1} << 40, "a test");
  HostMemory memory(device, budget);
  HostBuffer buffer = std::move(memory.Allocate(kThirtyTwo)).value();
  buffer = std::move(memory.Allocate(kThirtyTwo)).value();
  EXPECT_EQ(device.pinned_bytes(), 32 * kUnit);
  HostBuffer taken = std::move(buffer);
  EXPECT_EQ(buffer.size(), 0);
  EXPECT_EQ(taken.size(), 32 * kUnit);
}

TEST(HostMemoryTest, LetsTheDriverAllocateWhenAskedTo) {
  HostDevice device;
  PinBudget budget(int64_t{1} << 40, "a test");
  HostMemory memory(device, budget, {.form = HostMemoryForm::kDriver});
  const HostBuffer buffer = std::move(memory.Allocate(kThirtyTwo)).value();
  EXPECT_EQ(buffer.form(), HostMemoryForm::kDriver);
  EXPECT_EQ(device.pinned_bytes(), 32 * kUnit);
}

TEST(HostMemoryTest, PinsNothingWhenPageableMemoryIsAskedFor) {
  HostDevice device;
  PinBudget budget(int64_t{1} << 40, "a test");
  HostMemory memory(device, budget, {.form = HostMemoryForm::kPageable});
  LogCapture log;
  const HostBuffer buffer = std::move(memory.Allocate(kThirtyTwo)).value();
  EXPECT_FALSE(buffer.pinned());
  EXPECT_EQ(device.pinned_bytes(), 0);
  EXPECT_TRUE(log.warnings().empty());
}

TEST(HostMemoryTest, HalvesARefusedSlabUntilItFitsAndSaysSoOnce) {
  HostDevice device({.pin_limit_bytes = 9 * kUnit});
  PinBudget budget(int64_t{1} << 40, "a test");
  HostMemory memory(device, budget);
  LogCapture log;
  const HostBuffer buffer = std::move(memory.Allocate(kThirtyTwo)).value();
  EXPECT_TRUE(buffer.pinned());
  EXPECT_EQ(buffer.size(), 8 * kUnit);
  EXPECT_EQ(budget.reserved_bytes(), 8 * kUnit);
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_THAT(log.warnings()[0],
              HasSubstr("stage pool: asked for 2.0 MiB of pinned memory, got 0.5 MiB registered"));
  EXPECT_THAT(log.warnings()[0], HasSubstr("out of memory"));
}

TEST(HostMemoryTest, TakesPageableMemoryWhenNotEvenTheFloorCanBePinned) {
  HostDevice device({.pin_limit_bytes = 4 * kUnit - 1});
  PinBudget budget(int64_t{1} << 40, "a test");
  HostMemory memory(device, budget);
  LogCapture log;
  const HostBuffer buffer = std::move(memory.Allocate(kThirtyTwo)).value();
  EXPECT_FALSE(buffer.pinned());
  EXPECT_EQ(buffer.size(), 32 * kUnit);
  EXPECT_EQ(budget.reserved_bytes(), 0);
  EXPECT_EQ(log.warnings().size(), 1u);
}

TEST(HostMemoryTest, IsAnErrorWhenPageableMemoryWillNotDo) {
  HostDevice device({.pin_limit_bytes = 0});
  PinBudget budget(int64_t{1} << 40, "a test");
  HostMemory memory(device, budget);
  HostMemory::Request request = kThirtyTwo;
  request.pageable_will_do = false;
  LogCapture log;
  EXPECT_TRUE(absl::IsResourceExhausted(memory.Allocate(request).status()));
  EXPECT_TRUE(log.warnings().empty());
}

TEST(HostMemoryTest, StaysWithinTheBudgetThatOthersShare) {
  HostDevice device;
  PinBudget budget(20 * kUnit, "--pin_budget");
  const PinBudget::Reservation others = *budget.TryReserve(10 * kUnit);
  HostMemory memory(device, budget);
  LogCapture log;
  const HostBuffer buffer = std::move(memory.Allocate(kThirtyTwo)).value();
  EXPECT_EQ(buffer.size(), 10 * kUnit);
  EXPECT_EQ(budget.available_bytes(), 0);
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_THAT(log.warnings()[0], HasSubstr("the pin budget of 1.2 MiB (--pin_budget) has 0.6 MiB"));
}

TEST(HostMemoryTest, LeavesNoErrorOfTheDriverBehind) {
  for (const HostMemoryForm form : {HostMemoryForm::kRegistered, HostMemoryForm::kDriver}) {
    HostDevice device({.pin_limit_bytes = 0});
    PinBudget budget(int64_t{1} << 40, "a test");
    HostMemory memory(device, budget, {.form = form});
    ASSERT_TRUE(memory.Allocate(kThirtyTwo).ok());
    EXPECT_TRUE(device.GetMemoryInfo().ok());
  }
}

TEST(HostMemoryTest, GivesUsableMemoryWhicheverPinIsRefused) {
  for (int n = 1; n <= 5; ++n) {
    HostDevice device;
    device.faults().FailFrom(Call::kRegister, n);
    PinBudget budget(int64_t{1} << 40, "a test");
    HostMemory memory(device, budget);
    LogCapture log;
    std::vector<HostBuffer> buffers;
    for (int i = 1; i <= 4; ++i) {
      buffers.push_back(std::move(memory.Allocate(kThirtyTwo)).value());
      EXPECT_EQ(buffers.back().pinned(), i < n) << "buffer " << i << ", refusal from " << n;
      std::memset(buffers.back().data(), i, buffers.back().size());
    }
    EXPECT_EQ(log.warnings().size(), static_cast<size_t>(std::max(0, 5 - n)));
  }
}

}  // namespace
}  // namespace strata
