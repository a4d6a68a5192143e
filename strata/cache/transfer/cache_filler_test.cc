#include "strata/cache/transfer/cache_filler.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/log_capture.h"
#include "strata/core/pin_budget.h"
#include "strata/core/pin_limits.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using ::testing::HasSubstr;

constexpr int64_t kPlenty = int64_t{1} << 40;

// Everything a fill takes, made for one set of options.
struct MachineOptions {
  HostDevice::Options device = {.max_delay_yields = 2, .shuffle_batches = true};
  int64_t budget_bytes = kPlenty;
  HostMemoryForm stage_form = HostMemoryForm::kRegistered;
  int num_registered = 0;  // Experts from the first on.
  int num_in_arena = 0;    // From there on.
  int num_stages = 4;
  CacheFiller::Options filler = {.num_readers = 3, .blobs_per_submission = 4};
};

class Machine {
 public:
  Machine(const TestExperts& experts, const MachineOptions& options)
      : experts_(experts),
        device_(options.device),
        budget_(options.budget_bytes, "--pin_budget"),
        memory_(device_, budget_, {.form = options.stage_form}),
        reader_(experts.files()),
        registered_(experts.files(), device_, budget_) {
    if (options.num_registered > 0) {
      registered_.Register(experts.ids().subspan(0, options.num_registered));
    }
    if (options.num_in_arena > 0) {
      arena_ =
          std::move(PinnedArena::Create(
                        {}, experts.ids().subspan(options.num_registered, options.num_in_arena),
                        reader_, memory_))
              .value();
    }
    stages_ = std::move(StagePool::Create({.stage_bytes = experts.files().max_blob_bytes(),
                                           .num_stages = options.num_stages},
                                          memory_))
                  .value();
    source_ = std::make_unique<ExpertSource>(reader_, &registered_, arena_.get());
    slots_ = std::move(device_.Allocate(experts.SlotBytes())).value();
    std::memset(slots_.data(), 0, slots_.size());
    items_ = experts.SlotsIn(slots_);
    filler_ = std::move(CacheFiller::Create(options.filler, device_, *source_, *stages_)).value();
  }

  absl::Status Fill() { return filler_->Fill({.items = items_}); }
  absl::Status Check() {
    return (*SlotChecker::Create(device_, *source_, *stages_, 2))->Check(items_);
  }
  int NumWrong() const { return experts_.NumWrong(slots_.data()); }
  int64_t BytesFrom(HostForm form) const {
    return filler_->counters().bytes_from[static_cast<int>(form)];
  }

  const TestExperts& experts_;
  HostDevice device_;
  PinBudget budget_;
  HostMemory memory_;
  BlobReader reader_;
  RegisteredExperts registered_;
  std::unique_ptr<PinnedArena> arena_;
  std::unique_ptr<StagePool> stages_;
  std::unique_ptr<ExpertSource> source_;
  DeviceMemory slots_;
  std::vector<FillItem> items_;
  std::unique_ptr<CacheFiller> filler_;
};

TEST(CacheFillerTest, MovesEveryBlobFromWhateverFormItIsIn) {
  const TestExperts experts;
  Machine machine(experts, {.num_registered = 5, .num_in_arena = 4});
  ASSERT_TRUE(machine.Fill().ok());
  EXPECT_EQ(machine.NumWrong(), 0);
  EXPECT_TRUE(machine.Check().ok());
  EXPECT_GT(machine.BytesFrom(HostForm::kRegistered), 0);
  EXPECT_GT(machine.BytesFrom(HostForm::kArena), 0);
  EXPECT_GT(machine.BytesFrom(HostForm::kStage), 0);
  EXPECT_EQ(machine.BytesFrom(HostForm::kPageable), 0);
}

TEST(CacheFillerTest, WorksWithEveryChoiceOfHowToCopy) {
  const TestExperts experts;
  for (const CacheFiller::Options& options : std::vector<CacheFiller::Options>{
           {},
           {.num_readers = 1, .num_queues = 1},
           {.num_readers = 2, .num_queues = 4, .blobs_per_submission = 1},
           {.issue = CopyQueue::Issue::kOneByOne},
           {.copy_in_place = false},
           {.num_readers = 1, .num_queues = 1, .copy_in_place = false, .wait_for_each_copy = true},
       }) {
    Machine machine(experts, {.num_registered = 8, .num_in_arena = 4, .filler = options});
    EXPECT_TRUE(machine.Fill().ok());
    EXPECT_EQ(machine.NumWrong(), 0);
    EXPECT_LE(machine.device_.max_queued_copies(), Device::kMaxQueuedCopies);
  }
}

TEST(CacheFillerTest, CountsItsCopiesAndTheTimeThatIssuingThemTook) {
  const TestExperts experts;
  Machine machine(experts, {});
  ASSERT_TRUE(machine.Fill().ok());
  const CacheFiller::Counters counters = machine.filler_->counters();
  EXPECT_EQ(counters.num_copies, static_cast<int64_t>(machine.items_.size()));  // One a stage.
  EXPECT_GT(counters.issue_ns, 0);
}

TEST(CacheFillerTest, PageableStagesGiveTheSameBytesAsPinnedOnes) {
  const TestExperts experts;
  Machine pinned(experts, {});
  Machine pageable(experts, {.stage_form = HostMemoryForm::kPageable});
  ASSERT_TRUE(pinned.Fill().ok());
  ASSERT_TRUE(pageable.Fill().ok());
  EXPECT_EQ(pinned.NumWrong(), 0);
  EXPECT_EQ(pageable.NumWrong(), 0);
  EXPECT_EQ(pageable.BytesFrom(HostForm::kPageable), pinned.BytesFrom(HostForm::kStage));
}

TEST(CacheFillerTest, ChecksumsAreThoseOfTheSlicesInEveryForm) {
  const TestExperts experts;
  Machine machine(experts, {.num_registered = 5, .num_in_arena = 5});
  std::vector<Checksum> checksums(machine.items_.size());
  ASSERT_TRUE(
      machine.filler_->Fill({.items = machine.items_, .checksums = absl::MakeSpan(checksums)})
          .ok());
  for (size_t i = 0; i < checksums.size(); ++i) {
    ChecksumBuilder expected;
    for (const ExpertSlice& slice : experts.files().Slices(experts.ids()[i])) {
      expected.Add(experts.files().Mapped(slice));
    }
    EXPECT_EQ(checksums[i], expected.Finish()) << i;
  }
}

TEST(CacheFillerTest, StartDoesNotWaitForCopies) {
  const TestExperts experts;
  Machine machine(experts, {.device = {.copies = HostDevice::kHeld}, .num_registered = 16});
  machine.filler_->Start({.items = machine.items_});
  EXPECT_FALSE(machine.filler_->Done());
  EXPECT_EQ(machine.NumWrong(), 16);
  while (!machine.filler_->Done()) machine.device_.RunHeldCopies();
  ASSERT_TRUE(machine.filler_->Finish().ok());
  EXPECT_EQ(machine.NumWrong(), 0);
}

TEST(CacheFillerTest, NoCopyBeginsBeforeTheEventThatTheJobWaitsFor) {
  const TestExperts experts;
  for (const int num_registered : {0, 16}) {
    Machine machine(experts, {.device = {.copies = HostDevice::kHeld},
                              .num_registered = num_registered,
                              .num_stages = 16});
    // The last to use the slots before the job: many copies, one after the other.
    const DeviceStream reader = *machine.device_.CreateStream();
    const PinnedMemory junk = *machine.device_.AllocatePinned(machine.slots_.size());
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(machine.device_
                      .CopyToDevice(machine.slots_.data(),
                                    absl::MakeConstSpan(junk.data(), junk.size()), reader)
                      .ok());
    }
    machine.filler_->Start(
        {.items = machine.items_, .after = machine.device_.Record(reader).value()});
    while (!machine.filler_->Done()) machine.device_.RunHeldCopies();
    ASSERT_TRUE(machine.filler_->Finish().ok());
    EXPECT_EQ(machine.NumWrong(), 0);
  }
}

TEST(CacheFillerTest, FillsColdFiles) {
  const TestExperts experts;
  Machine machine(experts, {});
  experts.MakeCold();
  ASSERT_TRUE(machine.Fill().ok());
  EXPECT_EQ(machine.NumWrong(), 0);
}

TEST(CacheFillerTest, AFailureNamesTheExpertsAndTheNextJobIsRight) {
  const TestExperts experts;
  for (const int num_registered : {0, 16}) {
    Machine machine(experts, {.num_registered = num_registered});
    for (const Call call : {Call::kCopy, Call::kRecord}) {
      machine.device_.faults().FailNth(call, 2);
      const absl::Status status = machine.Fill();
      EXPECT_TRUE(absl::IsInternal(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("layer "));
      EXPECT_THAT(std::string(status.message()), HasSubstr("gate in shard 0 ("));
      EXPECT_THAT(std::string(status.message()), HasSubstr("a fault of the test's plan"));
    }
    machine.device_.faults().FailNth(Call::kRunCopy, 5);
    EXPECT_FALSE(machine.Fill().ok());
    EXPECT_TRUE(machine.Fill().ok());
    EXPECT_EQ(machine.NumWrong(), 0);
    EXPECT_EQ(machine.stages_->num_free(), machine.stages_->num_stages());
  }
}

TEST(CacheFillerTest, AFileThatShrinksIsAnErrorThatNamesTheSlice) {
  const TestExperts experts;
  Machine machine(experts, {});
  ASSERT_EQ(truncate(experts.path(1).c_str(), 100), 0);
  const absl::Status status = machine.Fill();
  EXPECT_EQ(ErrorKind(status), "changed") << status;
  EXPECT_EQ(ErrorFile(status), experts.path(1));
}

TEST(CacheFillerTest, RefusesStagesThatAreTooSmall) {
  const TestExperts experts;
  Machine machine(experts, {});
  const auto small = std::move(StagePool::Create({.stage_bytes = 4096}, machine.memory_)).value();
  EXPECT_TRUE(absl::IsInvalidArgument(
      CacheFiller::Create({}, machine.device_, *machine.source_, *small).status()));
}

TEST(CacheFillerTest, BytesArriveRightWhicheverPinIsRefused) {
  const TestExperts experts;
  for (int n = 1; n <= 12; ++n) {
    LogCapture log;
    const MachineOptions options = {.num_registered = 6};
    Machine machine(experts, options);
    // Everything that is pinned anew: windows, arena, stages.
    machine.device_.faults().FailNth(Call::kRegister, n);
    Machine other(experts, options);
    other.device_.faults().FailFrom(Call::kRegister, n);
    for (Machine* each : {&machine, &other}) {
      each->registered_.Register(experts.ids());
      const auto stages =
          std::move(
              StagePool::Create({.stage_bytes = experts.files().max_blob_bytes()}, each->memory_))
              .value();
      const auto filler =
          std::move(CacheFiller::Create(options.filler, each->device_, *each->source_, *stages))
              .value();
      ASSERT_TRUE(filler->Fill({.items = each->items_}).ok());
      EXPECT_EQ(each->NumWrong(), 0) << "refusal " << n;
    }
  }
}

TEST(CacheFillerTest, BytesArriveRightWithinAnyBudgetAndEachShortfallIsSaidOnce) {
  const TestExperts experts({.num_layers = 4, .num_experts = 32});
  const struct {
    int64_t budget_bytes;
    size_t num_warnings;
  } cases[] = {{0, 2}, {1 << 20, 2}, {256 << 20, 0}};
  for (const auto& [budget_bytes, num_warnings] : cases) {
    LogCapture log;
    Machine machine(experts,
                    {.budget_bytes = budget_bytes, .num_registered = 128, .num_stages = 32});
    EXPECT_LE(machine.device_.pinned_bytes(), budget_bytes);
    ASSERT_TRUE(machine.Fill().ok());
    EXPECT_EQ(machine.NumWrong(), 0);
    EXPECT_EQ(log.warnings().size(), num_warnings) << "budget of " << budget_bytes;
  }
}

TEST(CacheFillerTest, BytesArriveRightUnderALockLimitOfZero) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  {
    const TestExperts experts;
    LogCapture log;
    const PinLimits limits = ReadPinLimits();
    Machine machine(experts, {.device = {.pin_limit_bytes = limits.memlock_bytes.value()},
                              .budget_bytes = ChooseDefaultPinBudget(limits, true).bytes});
    ASSERT_TRUE(machine.Fill().ok());
    EXPECT_EQ(machine.NumWrong(), 0);
    EXPECT_EQ(machine.device_.pinned_bytes(), 0);
    EXPECT_EQ(log.warnings().size(), 1u);
  }
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

TEST(SlotCheckerTest, FindsOneWrongByteInAnySlotAndNamesIt) {
  const TestExperts experts;
  Machine machine(experts, {.num_registered = 5});
  ASSERT_TRUE(machine.Fill().ok());
  const FillItem& slot = machine.items_[11];
  slot.destination[experts.files().LayoutOf(slot.id).offset(1) + 77] ^= std::byte{1};
  const absl::Status status = machine.Check();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the slot of layer 1, expert 3, up in shard 0 ("));
  EXPECT_THAT(std::string(status.message()), HasSubstr("at byte 77 of "));
  machine.items_.erase(machine.items_.begin() + 11);
  EXPECT_TRUE(machine.Check().ok());
}

TEST(SlotCheckerTest, ComparesSlotsWithTheChecksumsOfWhatWasCopied) {
  const TestExperts experts;
  Machine machine(experts, {.num_registered = 5});
  std::vector<Checksum> checksums(machine.items_.size());
  ASSERT_TRUE(
      machine.filler_->Fill({.items = machine.items_, .checksums = absl::MakeSpan(checksums)})
          .ok());
  const auto checker = *SlotChecker::Create(machine.device_, *machine.source_, *machine.stages_, 2);
  EXPECT_TRUE(checker->Check(machine.items_, checksums).ok());
  machine.items_[7].destination[100] ^= std::byte{1};
  const absl::Status status = checker->Check(machine.items_, checksums);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("layer 0, expert 7"));
}

TEST(SlotCheckerTest, TellsOfAReadBackThatFails) {
  const TestExperts experts;
  Machine machine(experts, {});
  ASSERT_TRUE(machine.Fill().ok());
  machine.device_.faults().FailNth(Call::kCopy, 3);
  const absl::Status status = machine.Check();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("reading back the slot of layer "));
  EXPECT_TRUE(machine.Check().ok());
}

}  // namespace
}  // namespace strata
