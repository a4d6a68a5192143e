#include "strata/cache/tier/expert_table.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using Wait = ExpertTable::Wait;

constexpr int kNumExperts = 12;

// Some address that tells entries apart.
ExpertEntry EntryAt(int place) {
  static std::byte memory[256];
  return {.parts = {memory + place, memory + place, memory + place}, .form = EntryForm::kPageable};
}

class ExpertTableTest : public ::testing::Test {
 protected:
  // Patch buffers of 4 entries.
  void Make(HostDevice::Copies copies, int num_patches = 4, bool pinned = true) {
    device_ = std::make_unique<HostDevice>(
        HostDevice::Options{.copies = copies, .pin_limit_bytes = pinned ? int64_t{1} << 40 : 0});
    memory_ = std::make_unique<HostMemory>(*device_, budget_);
    patches_ = std::move(StagePool::Create({.stage_bytes = 4 * sizeof(ExpertEntry),
                                            .num_stages = num_patches,
                                            .min_stages = 1},
                                           *memory_))
                   .value();
    stream_ = std::move(device_->CreateStream()).value();
    // The first image needs more buffers than there are, so held copies have to run meanwhile.
    std::thread runner;
    std::atomic<bool> done = false;
    if (copies == HostDevice::kHeld) {
      runner = std::thread([&] {
        while (!done) device_->RunHeldCopies();
      });
    }
    table_ =
        std::move(ExpertTable::CreateWithImage(kNumExperts, *device_, stream_, *patches_)).value();
    done = true;
    if (runner.joinable()) runner.join();
    device_->RunHeldCopies();
  }
  void TearDown() override {
    if (device_ != nullptr) End();
  }
  void End() {
    device_->RunHeldCopies();
    device_->Drain(stream_);
    table_.reset();
    stream_ = DeviceStream();
    patches_.reset();
    memory_.reset();
    device_.reset();
  }
  absl::Status Change(const std::vector<int>& numbers, int place) {
    const absl::StatusOr<bool> begun =
        table_->Begin(static_cast<int>(numbers.size()), Wait::kNever);
    if (!begun.ok()) return begun.status();
    if (!*begun) return absl::UnavailableError("no buffers");
    for (const int number : numbers) table_->Set(number, EntryAt(place + number));
    return table_->Commit();
  }
  ExpertEntry InImage(int number) const {
    ExpertEntry entry;
    std::memcpy(&entry, table_->image() + number * sizeof(entry), sizeof(entry));
    return entry;
  }
  int NumUnlikeHost() const {
    int num_unlike = 0;
    for (int i = 0; i < kNumExperts; ++i) num_unlike += !(InImage(i) == table_->entry(i));
    return num_unlike;
  }

  PinBudget budget_{int64_t{1} << 40, "a test"};
  std::unique_ptr<HostDevice> device_;
  std::unique_ptr<HostMemory> memory_;
  std::unique_ptr<StagePool> patches_;
  DeviceStream stream_;
  std::unique_ptr<ExpertTable> table_;
};

TEST_F(ExpertTableTest, ChangesTheHostAtOnceAndTheImageInTheOrderOfTheStream) {
  Make(HostDevice::kHeld);
  ASSERT_TRUE(Change({7, 2, 3}, 100).ok());
  EXPECT_EQ(table_->entry(3).parts[1], EntryAt(103).parts[1]);
  EXPECT_EQ(table_->entry(3).generation, 1u);
  EXPECT_EQ(InImage(3).parts[1], nullptr);
  device_->RunHeldCopies();
  EXPECT_EQ(NumUnlikeHost(), 0);
  ASSERT_TRUE(Change({3}, 50).ok());
  EXPECT_EQ(table_->entry(3).generation, 2u);
}

TEST_F(ExpertTableTest, RefusesToBeginWhileAllBuffersAreOnTheirWayAndChangesNothing) {
  Make(HostDevice::kHeld);
  ASSERT_TRUE(Change({1, 3, 5, 7, 9}, 100).ok());
  ASSERT_TRUE(Change({2, 4, 6, 8, 10}, 100).ok());
  const absl::StatusOr<bool> begun = table_->Begin(1, Wait::kNever);
  ASSERT_TRUE(begun.ok());
  EXPECT_FALSE(*begun);
  device_->RunHeldCopies();
  EXPECT_TRUE(*table_->Begin(1, Wait::kNever));
  table_->Set(0, EntryAt(9));
  ASSERT_TRUE(table_->Commit().ok());
  device_->RunHeldCopies();
  EXPECT_EQ(NumUnlikeHost(), 0);
}

TEST_F(ExpertTableTest, ChangesNoHostEntryWhenTheDeviceRefusesAndHealsTheImageLater) {
  for (const Call call : {Call::kCopy, Call::kRecord}) {
    Make(HostDevice::kFree);
    ASSERT_TRUE(Change({1, 2}, 100).ok());
    device_->faults().FailNth(call, 1);
    EXPECT_FALSE(Change({1, 5}, 200).ok());
    device_->faults().Heal();
    EXPECT_EQ(table_->entry(1).parts[0], EntryAt(101).parts[0]);
    EXPECT_EQ(table_->entry(5).parts[0], nullptr);
    device_->Drain(stream_);
    ASSERT_TRUE(Change({9}, 100).ok());
    device_->Drain(stream_);
    EXPECT_EQ(NumUnlikeHost(), 0);
    EXPECT_EQ(patches_->num_free(), patches_->num_stages());
    End();
  }
}

TEST_F(ExpertTableTest, KeepsABufferWhoseCopyHasNoEventUntilOneStandsForIt) {
  Make(HostDevice::kHeld);
  device_->faults().FailNth(Call::kRecord, 1);
  EXPECT_FALSE(Change({1, 5}, 200).ok());
  device_->faults().Heal();
  EXPECT_EQ(patches_->num_free(), 3);
  ASSERT_TRUE(Change({9}, 100).ok());
  device_->RunHeldCopies();
  EXPECT_EQ(patches_->num_free(), 4);
  EXPECT_EQ(NumUnlikeHost(), 0);
}

TEST_F(ExpertTableTest, WritesTheWholeImageAnewAfterTheStreamHasFailed) {
  Make(HostDevice::kHeld);
  ASSERT_TRUE(Change({1, 5}, 100).ok());
  device_->faults().FailNth(Call::kRunCopy, 1);
  device_->RunHeldCopies();
  device_->Drain(stream_);
  device_->ClearError();
  EXPECT_GT(NumUnlikeHost(), 0);
  ASSERT_TRUE(table_->WriteImage().ok());
  device_->RunHeldCopies();
  EXPECT_EQ(NumUnlikeHost(), 0);
}

TEST_F(ExpertTableTest, ItsEndWaitsForThePatchesThatAreStillOnTheirWay) {
  Make(HostDevice::kHeld);
  ASSERT_TRUE(Change({1, 5}, 100).ok());
  std::thread runner([&] { device_->RunHeldCopies(); });
  table_.reset();
  EXPECT_EQ(patches_->num_free(), patches_->num_stages());
  runner.join();
}

TEST_F(ExpertTableTest, WorksFromPageableBuffersToo) {
  Make(HostDevice::kFree, 4, /*pinned=*/false);
  ASSERT_TRUE(Change({1, 5, 6}, 100).ok());
  device_->Drain(stream_);
  EXPECT_EQ(NumUnlikeHost(), 0);
}

TEST_F(ExpertTableTest, NeedsNoDeviceWithoutAnImage) {
  ExpertTable table(kNumExperts);
  EXPECT_EQ(table.image(), nullptr);
  EXPECT_EQ(table.max_changes(), kNumExperts);
  ASSERT_TRUE(*table.Begin(1, Wait::kNever));
  table.Set(4, EntryAt(1));
  ASSERT_TRUE(table.Commit().ok());
  EXPECT_EQ(table.entry(4).generation, 1u);
}

}  // namespace
}  // namespace strata
