#include "strata/cache/host/expert_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

class ExpertSourceTest : public ::testing::Test {
 protected:
  void Make(const TestExperts::Options& options) {
    experts_ = std::make_unique<TestExperts>(options);
    reader_ = std::make_unique<BlobReader>(experts_->files());
    registered_ = std::make_unique<RegisteredExperts>(experts_->files(), device_, budget_);
    registered_->Register(experts_->ids().subspan(0, 8));
    arena_ = std::move(PinnedArena::Create({}, experts_->ids().subspan(4, 8), *reader_, memory_))
                 .value();
    source_ = std::make_unique<ExpertSource>(*reader_, registered_.get(), arena_.get());
  }
  HostForm FormOf(int i) const { return source_->Locate(experts_->ids()[i]).form; }
  bool HasBytesOf(int i, const HostBlob& blob) const {
    const ExpertSlices& slices = experts_->files().Slices(experts_->ids()[i]);
    if (blob.num_parts != static_cast<int>(slices.size())) return false;
    for (int part = 0; part < blob.num_parts; ++part) {
      if (blob.parts()[part].bytes != experts_->files().Mapped(slices[part])) return false;
      if (blob.parts()[part].role != slices[part].role) return false;
    }
    return true;
  }

  HostDevice device_;
  PinBudget budget_{int64_t{1} << 40, "a test"};
  HostMemory memory_{device_, budget_};
  std::unique_ptr<TestExperts> experts_;
  std::unique_ptr<BlobReader> reader_;
  std::unique_ptr<RegisteredExperts> registered_;
  std::unique_ptr<PinnedArena> arena_;
  std::unique_ptr<ExpertSource> source_;
};

TEST_F(ExpertSourceTest, PrefersTheFileInPlaceThenTheArenaThenThePlainMapping) {
  Make({});
  EXPECT_EQ(FormOf(0), HostForm::kRegistered);
  EXPECT_EQ(FormOf(5), HostForm::kRegistered);
  EXPECT_EQ(FormOf(9), HostForm::kArena);
  EXPECT_EQ(FormOf(15), HostForm::kPageable);
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(HasBytesOf(i, source_->Locate(experts_->ids()[i]))) << i;
  }
}

TEST_F(ExpertSourceTest, ASliceThatIsNotAlignedIsNotReadInPlace) {
  Make({.misalignment = 8});
  EXPECT_EQ(FormOf(0), HostForm::kPageable);
  EXPECT_EQ(FormOf(5), HostForm::kArena);
  Make({.misalignment = 16});
  EXPECT_EQ(FormOf(0), HostForm::kRegistered);
}

TEST_F(ExpertSourceTest, EveryPinnedPartIsAlignedForKernels) {
  for (const int64_t misalignment : {0, 8, 16}) {
    Make({.misalignment = misalignment});
    for (const ExpertId id : experts_->ids()) {
      const HostBlob blob = source_->Locate(id);
      if (!blob.pinned()) continue;
      for (const HostBlob::Part& part : blob.parts()) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(part.bytes.data()) % 16, 0u);
      }
    }
  }
}

TEST_F(ExpertSourceTest, ReadsABlobIntoAStage) {
  Make({});
  const auto stages =
      std::move(StagePool::Create({.stage_bytes = experts_->files().max_blob_bytes()}, memory_))
          .value();
  StagePool::Stage stage = *stages->TryAcquire();
  const HostBlob blob = source_->ReadToStage(experts_->ids()[15], stage).value();
  EXPECT_EQ(blob.form, HostForm::kStage);
  EXPECT_TRUE(blob.in_one_piece);
  EXPECT_EQ(blob.parts()[0].bytes.data(), stage.data());
  EXPECT_TRUE(HasBytesOf(15, blob));
  EXPECT_EQ(stages->CountIn(StagePool::State::kReady), 1);
}

TEST_F(ExpertSourceTest, AStageThatIsNotPinnedIsPageable) {
  Make({});
  HostMemory pageable(device_, budget_, {.form = HostMemoryForm::kPageable});
  const auto stages =
      std::move(StagePool::Create({.stage_bytes = experts_->files().max_blob_bytes()}, pageable))
          .value();
  StagePool::Stage stage = *stages->TryAcquire();
  EXPECT_EQ(source_->ReadToStage(experts_->ids()[0], stage).value().form, HostForm::kPageable);
}

TEST_F(ExpertSourceTest, PrefetchIsAHintAndNothingMore) {
  Make({});
  experts_->MakeCold();
  source_->Prefetch(experts_->ids());
  EXPECT_TRUE(HasBytesOf(15, source_->Locate(experts_->ids()[15])));
}

}  // namespace
}  // namespace strata
