#include "strata/cache/stage/stage_pool.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/device.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

using std::chrono::milliseconds;
using Call = HostDeviceFaults::Call;
using State = StagePool::State;

constexpr int64_t kStageBytes = 4096;

class StagePoolTest : public ::testing::Test {
 protected:
  void Make(const HostDevice::Options& options, int num_stages = 2) {
    device_ = std::make_unique<HostDevice>(options);
    memory_ = std::make_unique<HostMemory>(*device_, budget_);
    stream_ = std::move(device_->CreateStream()).value();
    slot_ = std::move(device_->Allocate(kStageBytes)).value();
    pool_ = std::move(StagePool::Create({.stage_bytes = kStageBytes,
                                         .num_stages = num_stages,
                                         .min_stages = num_stages},
                                        *memory_))
                .value();
  }
  void TearDown() override {
    pool_.reset();
    slot_ = DeviceMemory();
    stream_ = DeviceStream();
  }
  StagePool::Stage Take() { return *pool_->TryAcquire(); }
  DeviceEvent StartCopy(const StagePool::Stage& stage) {
    EXPECT_TRUE(device_->CopyToDevice(slot_.data(), stage.bytes(), stream_).ok());
    return *device_->Record(stream_);
  }
  void StartCopyAndDropLease() {
    StagePool::Stage stage = Take();
    stage.MarkReady();
    stage.ReleaseAfter(StartCopy(stage));
  }

  PinBudget budget_{int64_t{1} << 40, "a test"};
  std::unique_ptr<HostDevice> device_;
  std::unique_ptr<HostMemory> memory_;
  DeviceStream stream_;
  DeviceMemory slot_;
  std::unique_ptr<StagePool> pool_;
};

TEST_F(StagePoolTest, KeepsAStageUntilTheCopyThatReadsItHasEnded) {
  Make({.copies = HostDevice::kHeld});
  StartCopyAndDropLease();
  EXPECT_EQ(pool_->num_free(), 1);
  device_->RunHeldCopies();
  EXPECT_EQ(pool_->num_free(), 2);
}

TEST_F(StagePoolTest, KeepsAStageUntilItsLeaseIsGoneAlthoughTheCopyHasEnded) {
  Make({});
  std::optional<StagePool::Stage> stage = Take();
  stage->MarkReady();
  stage->ReleaseAfter(StartCopy(*stage));
  device_->Drain(stream_);
  EXPECT_EQ(pool_->num_free(), 1);
  stage.reset();
  EXPECT_EQ(pool_->num_free(), 2);
}

TEST_F(StagePoolTest, KeepsAStageUntilEachOfItsCopiesHasEnded) {
  Make({.copies = HostDevice::kHeld});
  DeviceStream other = *device_->CreateStream();
  {
    StagePool::Stage stage = Take();
    stage.MarkReady();
    stage.ReleaseAfter(StartCopy(stage));
    ASSERT_TRUE(device_->CopyToDevice(slot_.data(), stage.bytes(), other).ok());
    stage.ReleaseAfter(*device_->Record(other));
  }
  device_->RunHeldCopies(stream_);
  EXPECT_EQ(pool_->num_free(), 1);
  device_->RunHeldCopies(other);
  EXPECT_EQ(pool_->num_free(), 2);
}

TEST_F(StagePoolTest, AStageGoesThroughFillingReadyAndInFlight) {
  Make({.copies = HostDevice::kHeld});
  StagePool::Stage stage = Take();
  EXPECT_EQ(pool_->CountIn(State::kFilling), 1);
  stage.MarkReady();
  EXPECT_EQ(pool_->CountIn(State::kReady), 1);
  stage.ReleaseAfter(StartCopy(stage));
  EXPECT_EQ(pool_->CountIn(State::kInFlight), 1);
  device_->RunHeldCopies();
}

TEST_F(StagePoolTest, AStageThatNoCopyReadsIsFreeWhenItsLeaseEnds) {
  Make({});
  Take();
  Take().MarkReady();
  EXPECT_EQ(pool_->num_free(), 2);
}

TEST_F(StagePoolTest, StagesAreDistinctAndOfTheSizeAsked) {
  Make({});
  const StagePool::Stage first = Take(), second = Take();
  EXPECT_EQ(first.bytes().size(), static_cast<size_t>(kStageBytes));
  EXPECT_EQ(std::abs(first.data() - second.data()), kStageBytes);
}

TEST_F(StagePoolTest, TryAcquireComesBackEmptyWhenNoneIsFree) {
  Make({});
  const StagePool::Stage first = Take(), second = Take();
  EXPECT_FALSE(pool_->TryAcquire().has_value());
  EXPECT_EQ(pool_->counters().exhausted, 1);
  EXPECT_EQ(pool_->counters().waits, 0);
}

TEST_F(StagePoolTest, AcquireWaitsForALeaseToEnd) {
  Make({});
  std::optional<StagePool::Stage> first = Take();
  const StagePool::Stage second = Take();
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(5));
    first.reset();
  });
  EXPECT_TRUE(pool_->Acquire().ok());
  other.join();
  EXPECT_EQ(pool_->counters().waits, 1);
  EXPECT_GT(pool_->counters().wait_us, 0);
}

TEST_F(StagePoolTest, AcquireWaitsForACopyToEnd) {
  Make({.copies = HostDevice::kHeld});
  StartCopyAndDropLease();
  StartCopyAndDropLease();
  std::thread other([&] { device_->RunHeldCopies(); });
  EXPECT_TRUE(pool_->Acquire().ok());
  other.join();
}

TEST_F(StagePoolTest, CountsStagesThatAreUsedAgain) {
  Make({});
  Take();
  Take();
  EXPECT_EQ(pool_->counters().acquired, 2);
  EXPECT_EQ(pool_->counters().reused, 1);
  EXPECT_EQ(pool_->counters().waits, 0);
}

TEST_F(StagePoolTest, TakesAnErrorOfTheDeviceForNoNewsOfTheCopy) {
  Make({.copies = HostDevice::kHeld});
  StartCopyAndDropLease();
  StartCopyAndDropLease();
  device_->faults().FailNth(Call::kAllocate, 1);
  ASSERT_FALSE(device_->Allocate(1).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(pool_->Acquire().status()));
  EXPECT_EQ(pool_->num_free(), 0);
  device_->ClearError();
  device_->RunHeldCopies();
  EXPECT_EQ(pool_->num_free(), 2);
}

TEST_F(StagePoolTest, FreesTheStageOfACopyThatFailed) {
  Make({.copies = HostDevice::kHeld});
  StartCopyAndDropLease();
  device_->faults().FailNth(Call::kRunCopy, 1);
  device_->RunHeldCopies();
  device_->ClearError();
  EXPECT_EQ(pool_->num_free(), 2);
}

TEST_F(StagePoolTest, ItsEndWaitsForCopiesInFlight) {
  Make({.copy_bytes_per_second = 1e6});
  {
    StagePool::Stage stage = Take();
    std::memset(stage.data(), 5, kStageBytes);
    stage.MarkReady();
    stage.ReleaseAfter(StartCopy(stage));
  }
  pool_.reset();
  EXPECT_EQ(slot_.data()[kStageBytes - 1], std::byte{5});
}

TEST_F(StagePoolTest, MakesFewerStagesWhenLessMemoryCanBePinned) {
  Make({.pin_limit_bytes = 5 * kStageBytes});
  pool_.reset();
  const auto pool = StagePool::Create({.stage_bytes = kStageBytes}, *memory_);
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ((*pool)->num_stages(), 4);
  EXPECT_TRUE((*pool)->memory().pinned());
}

TEST_F(StagePoolTest, WorksWithPageableStagesWhenNothingCanBePinned) {
  Make({.pin_limit_bytes = 0});
  EXPECT_FALSE(pool_->memory().pinned());
  StartCopyAndDropLease();
  device_->Drain(stream_);
  EXPECT_EQ(pool_->num_free(), 2);
}

TEST_F(StagePoolTest, RefusesSizesThatMakeNoPool) {
  Make({});
  EXPECT_TRUE(absl::IsInvalidArgument(StagePool::Create({}, *memory_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      StagePool::Create({.stage_bytes = 1, .num_stages = 3}, *memory_).status()));
}

}  // namespace
}  // namespace strata
