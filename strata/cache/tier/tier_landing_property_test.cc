// Random schedules of steps whose misses land, steps that fail, fills, loans, and times without
// landing, on a device whose copies are slow, overtake each other and fail. Every step reads every
// expert that it uses through the table's image and compares it with the file; slots are compared
// as well, all of them again and again.
//
// STRATA_TEST_STEPS sets the number of landings that were shown.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/slot_loan.h"
#include "strata/cache/tier/testing/landing_machine.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/device_event.h"
#include "strata/core/host_device.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using Fault = LandingMachine::Fault;
using Host = TierParts::Host;

TierParts::Options OptionsOfRound(int round, uint64_t seed) {
  constexpr std::array kHosts = {Host::kRegistered, Host::kArena, Host::kPageable};
  constexpr std::array kVerify = {SlotVerify::kSample, SlotVerify::kNone, SlotVerify::kAll,
                                  SlotVerify::kFirst};
  TierParts::Options options = {
      .experts = {.num_layers = 4, .num_experts = 32, .slice_bytes = {96, 96, 160}, .seed = seed},
      .num_used = 8,
      .host = kHosts[round % kHosts.size()],
      .num_spare_places = 16,
      .budget = SlotBudget::Slots(64),
      .patch_bytes = 2048};
  options.tier.policy = {.adapt_every = 1, .max_swaps = 16, .decay = 0.3, .margin = 0};
  options.tier.fill_chunk = 16;
  options.tier.filler = {.num_readers = 2, .num_queues = 2, .blobs_per_submission = 8};
  options.tier.verify_landings = kVerify[round % kVerify.size()];
  // A victim of a complement arena needs a place of its own there.
  if (options.host == Host::kArena) options.tier.aliases = AliasRule::kPinnedOnly;
  return options;
}

// Works on a stream of its own with what it has borrowed, longer than its loan lasts, and looks
// whether anybody else has written there.
class Prompt {
 public:
  explicit Prompt(LandingMachine& machine)
      : device_(machine.device), stream_(*machine.device.CreateStream()) {}
  ~Prompt() { device_.Drain(stream_); }

  void WorkWith(SlotLoan& loan, int num_yields) {
    if (!loan.ready_after().HoldBack(device_, stream_).ok()) {
      device_.ClearError();
      return;
    }
    const std::byte mark{static_cast<unsigned char>(++num_launched_)};
    device_.Launch(stream_, [this, memory = loan.memory(), mark, num_yields] {
      std::fill(memory.begin(), memory.end(), mark);
      for (int i = 0; i < num_yields; ++i) std::this_thread::yield();
      num_wrong_ += std::count(memory.begin(), memory.end(), mark) != std::ssize(memory);
    });
    absl::StatusOr<DeviceEvent> event = device_.Record(stream_);
    while (!event.ok()) {
      device_.ClearError();
      event = device_.Record(stream_);
    }
    loan.ReleaseAfter(*std::move(event));
  }
  void Finish() { device_.Drain(stream_); }
  int64_t num_launched() const { return num_launched_; }
  int64_t num_wrong() const { return num_wrong_; }

 private:
  HostDevice& device_;
  const DeviceStream stream_;
  int64_t num_launched_ = 0;
  std::atomic<int64_t> num_wrong_ = 0;
};

class LandingSchedule {
 public:
  LandingSchedule(LandingMachine& machine, uint64_t seed)
      : machine_(machine), tier_(*machine.parts->tier), prompt_(machine), random_(seed) {}

  void RunUntil(int64_t num_shown) {
    tier_.StartFill(SlotVerify::kNone);
    for (int64_t step = 0; tier_.counters().landings_shown < num_shown; ++step) {
      ASSERT_LT(step, 1000 + 100 * num_shown) << "landings have stopped";
      Step();
      if (random_() % 32 == 0) ExpectAgreement();
      if (testing::Test::HasFatalFailure()) return;
      if (random_() % 16 == 0) DoSomethingElse();
      if (random_() % 8 == 0) tier_.FirstTokenOut();
    }
  }

  void ExpectWhole() {
    machine_.device.faults().Heal();
    machine_.device.ClearError();
    prompt_.Finish();
    tier_.FirstTokenOut();
    tier_.SetLanding(true);
    for (int num_quiet = 0; num_quiet < 3;) {
      EXPECT_TRUE(machine_.Step({}).ok());
      num_quiet = machine_.parts->IsSettled() ? num_quiet + 1 : 0;
    }
    ExpectAgreement();
    EXPECT_EQ(machine_.parts->NumLostPlaces(), 0);
    EXPECT_EQ(prompt_.num_wrong(), 0);
    const SlotCache& slots = tier_.slots();
    EXPECT_EQ(slots.NumIn(SlotState::kResident) + slots.NumIn(SlotState::kEmpty),
              slots.num_slots());
  }

  int64_t num_steps() const { return num_steps_; }
  int64_t num_failed() const { return num_failed_; }
  int64_t num_prompts() const { return prompt_.num_launched(); }

 private:
  // Runs of experts that begin anywhere: what is hot changes all the time.
  std::vector<int> Numbers() {
    std::vector<int> numbers;
    for (size_t layer = 0; layer < machine_.parts->geometry.layers().size(); ++layer) {
      const int first = static_cast<int>(random_() % 32);
      for (int i = 0; i < 8; ++i)
        numbers.push_back(static_cast<int>(layer) * 32 + (first + i * 3) % 32);
    }
    return numbers;
  }

  void Step() {
    ++num_steps_;
    Fault fault = Fault::kNone;
    if (random_() % 16 == 0)
      fault = random_() % 2 == 0 ? Fault::kNotLaunched : Fault::kStopsHalfWay;
    num_failed_ += fault != Fault::kNone;
    const absl::Status status = machine_.Step(Numbers(), fault);
    ASSERT_TRUE(status.ok()) << status;
  }

  void DoSomethingElse() {
    switch (random_() % 6) {
      case 0:
        tier_.SetLanding(random_() % 3 != 0);
        break;
      case 1:
        tier_.StartFill(SlotVerify::kSample);
        break;
      case 2:
        // A device that refuses something ends the fill early.
        static_cast<void>(tier_.Fill({}));
        machine_.device.ClearError();
        break;
      default:
        Lend();
    }
  }

  void Lend() {
    absl::StatusOr<SlotLoan> loan = tier_.LendSlots(static_cast<int>(1 + random_() % 64));
    if (!loan.ok()) {
      machine_.device.ClearError();
      return;
    }
    if (random_() % 4 != 0) prompt_.WorkWith(*loan, static_cast<int>(random_() % 50));
    for (uint64_t i = random_() % 3; i > 0; --i) Step();
  }

  // What is always true between steps.
  void ExpectAgreement() {
    ASSERT_EQ(machine_.num_wrong(), 0);
    ASSERT_EQ(machine_.NumWrongSlots(), 0);
    const TierCounters counters = tier_.counters();
    EXPECT_EQ(counters.routed, counters.hits + counters.num_misses());
    EXPECT_LE(counters.landings_shown, counters.landed);
    EXPECT_LE(counters.landed, counters.offered);
    EXPECT_EQ(counters.waits_for_swaps, 0);
    EXPECT_EQ(tier_.slots().NumIn(SlotState::kOffered), 0);
    for (int number = 0; number < machine_.parts->geometry.size(); ++number) {
      EXPECT_EQ(machine_.InSlot(number), tier_.slots().IsResident(number));
    }
  }

  LandingMachine& machine_;
  ExpertTier& tier_;
  Prompt prompt_;
  std::mt19937_64 random_;
  int64_t num_steps_ = 0, num_failed_ = 0;
};

TEST(TierLandingPropertyTest, SoakOfLandingsReadsNoWrongByte) {
  const uint64_t seed = TestSeed();
  const int64_t num_shown = TestSteps(1200);
  constexpr int kRounds = 6;
  TierCounters sum;
  int64_t num_steps = 0, num_failed = 0, num_prompts = 0, num_read = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    LandingMachine machine(OptionsOfRound(round, seed + round), /*offered_share=*/0.1,
                           {.max_delay_yields = static_cast<int>((seed + round) % 3),
                            .shuffle_batches = true,
                            .seed = seed + round});
    if (round >= 2) {
      for (const Call call : {Call::kCopy, Call::kRunCopy, Call::kRecord}) {
        machine.device.faults().FailRandomly(call, 0.0005, seed + round);
      }
    }
    LandingSchedule schedule(machine, seed + round);
    ASSERT_NO_FATAL_FAILURE(schedule.RunUntil(num_shown / kRounds));
    ASSERT_NO_FATAL_FAILURE(schedule.ExpectWhole());
    const TierCounters counters = machine.parts->tier->counters();
    sum.landed += counters.landed;
    sum.landings_shown += counters.landings_shown;
    sum.landings_verified += counters.landings_verified;
    sum.swaps_visible += counters.swaps_visible;
    sum.lent += counters.lent;
    sum.fills += counters.fills;
    num_steps += schedule.num_steps();
    num_failed += schedule.num_failed();
    num_prompts += schedule.num_prompts();
    num_read += machine.counts().num_read;
  }
  std::cout << sum.landed << " experts landed in " << num_steps << " steps, of which " << num_failed
            << " failed; " << sum.landings_shown << " were shown, " << sum.landings_verified
            << " compared; " << sum.swaps_visible << " swaps and " << sum.fills << " fills; "
            << sum.lent << " slots lent to " << num_prompts << " prompts; " << num_read
            << " experts read by steps" << std::endl;
  EXPECT_GT(sum.landings_verified, 0);
  EXPECT_GT(sum.swaps_visible, 0);
  EXPECT_GT(num_failed, 0);
  EXPECT_GT(num_prompts, 0);
}

}  // namespace
}  // namespace strata
