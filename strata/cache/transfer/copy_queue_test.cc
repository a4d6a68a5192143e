#include "strata/cache/transfer/copy_queue.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "strata/core/device.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;

constexpr int kNumCopies = 1000;
constexpr int64_t kCopyBytes = 64;

class CopyQueueTest : public ::testing::Test {
 protected:
  void Make(const HostDevice::Options& options) {
    device_ = std::make_unique<HostDevice>(options);
    source_ = std::move(device_->AllocatePinned(kNumCopies * kCopyBytes)).value();
    memory_ = std::move(device_->Allocate(kNumCopies * kCopyBytes)).value();
    for (int64_t i = 0; i < source_.size(); ++i) {
      source_.data()[i] = static_cast<std::byte>(i * 13 + i / 256);
    }
    std::memset(memory_.data(), 0, memory_.size());
    copies_.clear();
    for (int64_t i = 0; i < kNumCopies; ++i) {
      copies_.push_back(
          {memory_.data() + i * kCopyBytes, source_.data() + i * kCopyBytes, kCopyBytes});
    }
    queue_ = std::move(CopyQueue::Create(*device_)).value();
  }
  void TearDown() override {
    queue_.reset();
    source_ = PinnedMemory();
    memory_ = DeviceMemory();
  }
  bool AllArrived() const {
    return std::memcmp(memory_.data(), source_.data(), memory_.size()) == 0;
  }

  std::unique_ptr<HostDevice> device_;
  PinnedMemory source_;
  DeviceMemory memory_;
  std::vector<HostToDeviceCopy> copies_;
  std::unique_ptr<CopyQueue> queue_;
};

TEST_F(CopyQueueTest, MovesEveryCopyInFewCallsAndNeverOverfillsTheDriversQueue) {
  Make({.max_delay_yields = 2, .shuffle_batches = true});
  const absl::StatusOr<DeviceEvent> event = queue_->Submit(copies_, CopyQueue::Issue::kTogether);
  ASSERT_TRUE(event.ok()) << event.status();
  ASSERT_TRUE(device_->Wait(*event).ok());
  EXPECT_TRUE(AllArrived());
  EXPECT_LE(device_->max_queued_copies(), Device::kMaxQueuedCopies);
  EXPECT_EQ(device_->faults().num_calls(Call::kCopy), 8);
  EXPECT_TRUE(queue_->Finish().ok());
}

TEST_F(CopyQueueTest, IssuesOneByOneWhenAskedTo) {
  Make({.max_delay_yields = 2});
  ASSERT_TRUE(queue_->Submit(copies_, CopyQueue::Issue::kOneByOne).ok());
  ASSERT_TRUE(queue_->Finish().ok());
  EXPECT_TRUE(AllArrived());
  EXPECT_LE(device_->max_queued_copies(), Device::kMaxQueuedCopies);
  EXPECT_EQ(device_->faults().num_calls(Call::kCopy), kNumCopies);
}

TEST_F(CopyQueueTest, ManyThreadsSubmitToOneQueue) {
  Make({.max_delay_yields = 2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < kNumCopies; i += 4) {
        EXPECT_TRUE(queue_->Submit({&copies_[i], 1}, CopyQueue::Issue::kTogether).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(queue_->Finish().ok());
  EXPECT_TRUE(AllArrived());
  EXPECT_LE(device_->max_queued_copies(), Device::kMaxQueuedCopies);
}

TEST_F(CopyQueueTest, NothingRunsAnyMoreWhenSubmitHasFailed) {
  for (const Call call : {Call::kCopy, Call::kRecord}) {
    Make({.max_delay_yields = 3});
    device_->faults().FailNth(call, 4);
    EXPECT_TRUE(absl::IsInternal(queue_->Submit(copies_, CopyQueue::Issue::kTogether).status()));
    const std::vector<std::byte> arrived(memory_.data(), memory_.data() + memory_.size());
    std::memset(source_.data(), 0xff, source_.size());
    EXPECT_TRUE(queue_->Submit({&copies_[0], 1}, CopyQueue::Issue::kTogether).ok());
    EXPECT_TRUE(queue_->Finish().ok());
    EXPECT_EQ(std::memcmp(memory_.data() + kCopyBytes, arrived.data() + kCopyBytes,
                          arrived.size() - kCopyBytes),
              0);
    TearDown();
  }
}

TEST_F(CopyQueueTest, FinishTellsOfACopyThatFailedWhileItRanAndOnlyOnce) {
  Make({.copies = HostDevice::kHeld});
  device_->faults().FailNth(Call::kRunCopy, 30);
  for (const bool fails : {true, false}) {
    EXPECT_TRUE(queue_->Submit({copies_.data(), 50}, CopyQueue::Issue::kTogether).ok());
    device_->RunHeldCopies();
    EXPECT_EQ(queue_->Finish().ok(), !fails);
    EXPECT_EQ(std::memcmp(memory_.data(), source_.data(), 50 * kCopyBytes) == 0, !fails);
  }
}

TEST_F(CopyQueueTest, AnEmptySubmissionHasEnded) {
  Make({});
  EXPECT_TRUE(*device_->HasEnded(*queue_->Submit({}, CopyQueue::Issue::kTogether)));
  EXPECT_TRUE(queue_->Finish().ok());
}

}  // namespace
}  // namespace strata
