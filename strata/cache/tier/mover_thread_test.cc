#include "strata/cache/tier/mover_thread.h"

#include <array>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/testing/late_work.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/device.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

using ::testing::ElementsAre;

class MoverThreadTest : public ::testing::Test {
 protected:
  ExpertMover::Outcome Copy(SlotVerify verify) {
    mover_.StartCopies({.items = items_, .verify = verify});
    return mover_.Take();
  }

  HostDevice device_;
  const TestExperts experts_{{.num_layers = 2, .num_experts = 10}};
  PinBudget budget_{int64_t{1} << 40, "a test"};
  HostMemory memory_{device_, budget_};
  BlobReader reader_{experts_.files()};
  const std::unique_ptr<PinnedArena> arena_ =
      std::move(PinnedArena::Create({.num_spare_places = 1}, experts_.ids().subspan(0, 2), reader_,
                                    memory_))
          .value();
  ExpertSource source_{reader_, nullptr, arena_.get()};
  const std::unique_ptr<StagePool> stages_ =
      std::move(StagePool::Create({.stage_bytes = experts_.files().max_blob_bytes()}, memory_))
          .value();
  const DeviceMemory slots_ = *device_.Allocate(experts_.SlotBytes());
  const std::vector<FillItem> items_ = experts_.SlotsIn(slots_);
  const std::unique_ptr<CacheFiller> filler_ =
      std::move(CacheFiller::Create({.num_readers = 2}, device_, source_, *stages_)).value();
  const std::unique_ptr<SlotChecker> checker_ =
      std::move(SlotChecker::Create(device_, source_, *stages_, 2)).value();
  MoverThread mover_{*filler_, *checker_, arena_.get()};
};

TEST_F(MoverThreadTest, CopiesAndReadsBackWhatWasAsked) {
  for (const auto& [verify, num_verified] :
       std::vector<std::pair<SlotVerify, int>>{{SlotVerify::kNone, 0},
                                               {SlotVerify::kFirst, 1},
                                               {SlotVerify::kSample, 2},
                                               {SlotVerify::kAll, 20}}) {
    const ExpertMover::Outcome outcome = Copy(verify);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.num_verified, num_verified);
    EXPECT_GT(outcome.work_ns, 0);
    EXPECT_EQ(experts_.NumWrong(slots_.data()), 0);
  }
}

TEST_F(MoverThreadTest, CopiesBehindWhatMayStillUseTheSlots) {
  LateWork work(device_);
  mover_.StartCopies({.items = items_,
                      .after = work.WriteOver(absl::MakeSpan(slots_.data(), slots_.size())),
                      .verify = SlotVerify::kAll});
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(mover_.running());
  work.LetRun();
  EXPECT_TRUE(mover_.Take().status.ok());
  EXPECT_EQ(experts_.NumWrong(slots_.data()), 0);
}

TEST_F(MoverThreadTest, AFailedCopyIsTheOutcomeAndTheNextWorkIsSound) {
  device_.faults().FailNth(HostDeviceFaults::Call::kRunCopy, 3);
  EXPECT_FALSE(Copy(SlotVerify::kNone).status.ok());
  EXPECT_TRUE(Copy(SlotVerify::kAll).status.ok());
  EXPECT_EQ(experts_.NumWrong(slots_.data()), 0);
}

TEST_F(MoverThreadTest, SaysWhichExpertsGotAPlaceOfTheArena) {
  std::array<bool, 3> is_there = {};
  const std::vector<ExpertId> experts = {experts_.ids()[1], experts_.ids()[12], experts_.ids()[13]};
  mover_.StartAliases(experts, absl::MakeSpan(is_there));
  EXPECT_TRUE(mover_.busy());
  EXPECT_TRUE(mover_.Take().status.ok());
  EXPECT_FALSE(mover_.busy());
  EXPECT_THAT(is_there, ElementsAre(true, true, false)) << "there already, the spare place, none";
  EXPECT_NE(arena_->Find(experts_.ids()[12]), nullptr);
}

}  // namespace
}  // namespace strata
