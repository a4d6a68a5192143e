// Registration, arena, stages and filler on a real card: every slot is read back and compared.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/cuda_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

class CacheGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Device>> device = CreateCudaDevice();
    if (!device.ok()) {
      ASSERT_TRUE(absl::IsUnavailable(device.status())) << device.status();
      GTEST_SKIP() << device.status().message();
    }
    device_ = *std::move(device);
    experts_ = std::make_unique<TestExperts>(TestExperts::Options{
        .num_layers = 4, .num_experts = 64, .slice_bytes = {442368, 442368, 645120}});
    slots_ = std::move(device_->Allocate(experts_->SlotBytes())).value();
    items_ = experts_->SlotsIn(slots_);
    reader_ = std::make_unique<BlobReader>(experts_->files());
    memory_ = std::make_unique<HostMemory>(*device_, budget_);
  }

  // Fills all slots three times over, with other experts in between, then checks every slot.
  void FillAndCheck(const CacheFiller::Options& options, HostMemory& stage_memory,
                    const RegisteredExperts* registered, const PinnedArena* arena,
                    HostForm expected_form) {
    ExpertSource source(*reader_, registered, arena);
    const auto stages =
        std::move(
            StagePool::Create({.stage_bytes = experts_->files().max_blob_bytes(), .num_stages = 8},
                              stage_memory))
            .value();
    const auto filler = std::move(CacheFiller::Create(options, *device_, source, *stages)).value();
    std::vector<FillItem> rotated = items_;
    for (size_t i = 0; i < items_.size(); ++i) {
      rotated[i].id = items_[(i + 7) % items_.size()].id;
    }
    for (const std::vector<FillItem>* items : {&items_, &rotated, &items_}) {
      const absl::Status filled = filler->Fill({.items = *items});
      ASSERT_TRUE(filled.ok()) << filled;
    }
    const absl::Status checked = (*SlotChecker::Create(*device_, source, *stages))->Check(items_);
    EXPECT_TRUE(checked.ok()) << checked;
    EXPECT_GT(filler->counters().bytes_from[static_cast<int>(expected_form)], 0);
  }

  std::unique_ptr<Device> device_;
  PinBudget budget_{int64_t{1} << 40, "a test"};
  std::unique_ptr<TestExperts> experts_;
  DeviceMemory slots_;
  std::vector<FillItem> items_;
  std::unique_ptr<BlobReader> reader_;
  std::unique_ptr<HostMemory> memory_;
};

TEST_F(CacheGpuTest, FillsThroughPinnedStages) {
  FillAndCheck({}, *memory_, nullptr, nullptr, HostForm::kStage);
}

TEST_F(CacheGpuTest, FillsThroughStagesThatTheDriverAllocated) {
  HostMemory memory(*device_, budget_, {.form = HostMemoryForm::kDriver});
  FillAndCheck({.issue = CopyQueue::Issue::kOneByOne}, memory, nullptr, nullptr, HostForm::kStage);
}

TEST_F(CacheGpuTest, FillsThroughPageableStages) {
  HostMemory memory(*device_, budget_, {.form = HostMemoryForm::kPageable});
  FillAndCheck({}, memory, nullptr, nullptr, HostForm::kPageable);
}

TEST_F(CacheGpuTest, FillsFromTheFileRegisteredInPlace) {
  RegisteredExperts registered(experts_->files(), *device_, budget_);
  if (registered.Register(experts_->ids()) == 0) {
    GTEST_SKIP() << "files in " << ::testing::TempDir() << " cannot be pinned in place";
  }
  FillAndCheck({}, *memory_, &registered, nullptr, HostForm::kRegistered);
  FillAndCheck({.issue = CopyQueue::Issue::kOneByOne}, *memory_, &registered, nullptr,
               HostForm::kRegistered);
}

TEST_F(CacheGpuTest, FillsFromPiecesOfTheFile) {
  RegisteredExperts registered(experts_->files(), *device_, budget_, /*max_piece_bytes=*/4 << 20);
  if (registered.Register(experts_->ids().subspan(0, 100)) == 0) {
    GTEST_SKIP() << "files in " << ::testing::TempDir() << " cannot be pinned in place";
  }
  FillAndCheck({}, *memory_, &registered, nullptr, HostForm::kRegistered);
}

TEST_F(CacheGpuTest, FillsFromTheArena) {
  const auto arena =
      PinnedArena::Create({.num_spare_places = 2}, experts_->ids(), *reader_, *memory_);
  ASSERT_TRUE(arena.ok()) << arena.status();
  FillAndCheck({}, *memory_, nullptr, arena->get(), HostForm::kArena);
}

TEST_F(CacheGpuTest, FindsAWrongSlot) {
  ExpertSource source(*reader_, nullptr, nullptr);
  const auto stages =
      std::move(StagePool::Create({.stage_bytes = experts_->files().max_blob_bytes()}, *memory_))
          .value();
  const auto filler = std::move(CacheFiller::Create({}, *device_, source, *stages)).value();
  ASSERT_TRUE(filler->Fill({.items = items_}).ok());
  items_[200].id = items_[201].id;
  EXPECT_TRUE(absl::IsDataLoss((*SlotChecker::Create(*device_, source, *stages))->Check(items_)));
}

}  // namespace
}  // namespace strata
