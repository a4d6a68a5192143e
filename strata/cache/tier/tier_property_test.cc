// Random schedules of steps, swaps, fills and loans against a device whose copies are slow,
// overtake each other and fail. Every step reads every expert that it uses, on its own stream at
// its own time, and compares it with the file; slots are compared as well, a sample of them each
// round and all in the end.
//
// STRATA_TEST_STEPS sets the number of swaps; 1,000,000 take half a minute.
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
#include "gtest/gtest.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/testing/tier_machine.h"
#include "strata/core/host_device.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using Host = TierMachine::Host;

// What was used last is hot, so that everything swaps all the time.
TierMachine::Options OptionsOfChurn(Host host, uint64_t seed) {
  TierMachine::Options options = {
      .experts = {.num_layers = 4, .num_experts = 64, .slice_bytes = {96, 96, 160}, .seed = seed},
      .num_used = 16,
      .host = host,
      .num_spare_places = 64,
      .budget = SlotBudget::Slots(128),
      .patch_bytes = 2048,
      .num_patches = 8};
  options.tier.policy = {.adapt_every = 1, .max_swaps = 64, .decay = 0.3, .margin = 0};
  options.tier.fill_chunk = 32;
  options.tier.filler = {.num_readers = 2, .num_queues = 2, .blobs_per_submission = 16};
  options.tier.miss_path = MissPath::kRead;
  return options;
}

TierMachine::Token RandomToken(const ExpertGeometry& geometry, std::mt19937_64& random) {
  TierMachine::Token token(geometry.layers().size());
  for (std::vector<int>& indices : token) {
    const int first = static_cast<int>(random() % geometry.num_experts());
    for (int i = 0; i < geometry.num_used(); ++i) {
      indices.push_back((first + i * 3) % geometry.num_experts());
    }
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  }
  return token;
}

// What is always true between steps.
void ExpectAccountsAgree(const TierMachine& machine) {
  const TierCounters counters = machine.tier->counters();
  EXPECT_EQ(counters.routed, counters.hits + counters.num_misses());
  EXPECT_GE(counters.swaps_decided,
            counters.swaps_visible + counters.swaps_failed + counters.swaps_dropped);
  EXPECT_EQ(counters.waits_for_swaps, 0);
  const SlotCache& slots = machine.tier->slots();
  for (int number = 0; number < machine.geometry.size(); ++number) {
    EXPECT_EQ(machine.tier->Entry(number).form == EntryForm::kSlot, slots.IsResident(number));
  }
}

// A prompt that works on a stream of its own, as a GPU's does, longer than its loan lasts: it
// writes all that it has borrowed, and some time later nobody else may have written there.
class Prompt {
 public:
  explicit Prompt(TierMachine& machine)
      : machine_(machine), stream_(*machine.device.CreateStream()) {}
  ~Prompt() { machine_.device.Drain(stream_); }

  // False when the device refuses something; then nothing works with the loan.
  bool WorkWith(SlotLoan& loan, int num_yields) {
    HostDevice& device = machine_.device;
    const absl::StatusOr<bool> ended = device.HasEnded(last_);
    if (ended.ok() && *ended && num_run_ < num_launched_ - num_skipped_) {
      // A step that failed has failed this stream, too, which runs nothing until it is drained.
      Finish();
      num_skipped_ = num_launched_ - num_run_;
    }
    if (!loan.ready_after().HoldBack(device, stream_).ok()) return false;
    const std::byte mark{static_cast<unsigned char>(++num_launched_)};
    device.Launch(stream_, [this, memory = loan.memory(), mark, num_yields] {
      std::fill(memory.begin(), memory.end(), mark);
      for (int i = 0; i < num_yields; ++i) std::this_thread::yield();
      num_wrong_ += std::count(memory.begin(), memory.end(), mark) != std::ssize(memory);
      ++num_run_;
    });
    absl::StatusOr<DeviceEvent> event = device.Record(stream_);
    while (!event.ok()) {
      device.ClearError();
      event = device.Record(stream_);
    }
    last_ = *event;
    loan.ReleaseAfter(*std::move(event));
    return true;
  }
  // Waits for the work.
  void Finish() { machine_.device.Drain(stream_); }

  int64_t num_launched() const { return num_launched_; }
  int64_t num_run() const { return num_run_; }
  int64_t num_wrong() const { return num_wrong_; }

 private:
  TierMachine& machine_;
  const DeviceStream stream_;
  DeviceEvent last_;
  int64_t num_launched_ = 0, num_skipped_ = 0;
  std::atomic<int64_t> num_run_ = 0, num_wrong_ = 0;
};

void LendForAPrompt(TierMachine& machine, Prompt& prompt, std::mt19937_64& random) {
  absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(1 + random() % 128);
  if (!loan.ok()) {
    EXPECT_TRUE(machine.faulty) << loan.status();
    machine.device.ClearError();
    return;
  }
  // One in four loans ends unused.
  if (random() % 4 != 0 && !prompt.WorkWith(*loan, random() % 50)) machine.device.ClearError();
  for (int i = random() % 3; i > 0; --i) {
    machine.Step({RandomToken(machine.geometry, random), RandomToken(machine.geometry, random)});
  }
}

// What else happens between steps, in any order and while anything is under way.
void DoSomethingElse(TierMachine& machine, Prompt& prompt, std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      prompt.Finish();
      break;
    case 1: {
      const absl::Status filled = machine.tier->Fill({}).status();
      EXPECT_TRUE(filled.ok() || machine.faulty) << filled;
      machine.device.ClearError();
      break;
    }
    case 2:
      machine.tier->StartFill(SlotVerify::kNone);
      break;
    default:  // Often one loan after the other.
      for (int i = 1 + random() % 3; i > 0; --i) LendForAPrompt(machine, prompt, random);
  }
}

// Steps until so many swaps have shown; returns the number of steps.
int64_t Churn(TierMachine& machine, Prompt& prompt, int64_t num_swaps, double else_probability,
              std::mt19937_64& random) {
  int64_t num_steps = 0, last_visible = 0;
  while (machine.tier->counters().swaps_visible < num_swaps) {
    machine.Step({RandomToken(machine.geometry, random)});
    ++num_steps;
    const int64_t visible = machine.tier->counters().swaps_visible;
    if (std::exchange(last_visible, visible) != visible) {
      EXPECT_EQ(machine.NumWrongSlots(random() % 16, 16), 0);
      if (random() % 64 == 0) ExpectAccountsAgree(machine);
    }
    if (std::bernoulli_distribution(else_probability)(random)) {
      DoSomethingElse(machine, prompt, random);
    }
    if (random() % 8 == 0) machine.tier->FirstTokenOut();
    if (num_steps > 1000 + 100 * num_swaps) {
      ADD_FAILURE() << "swaps have stopped at " << visible;
      break;
    }
  }
  return num_steps;
}

// Everything is back in its place and every slot is right.
void ExpectWhole(TierMachine& machine, Prompt& prompt) {
  machine.device.faults().Heal();
  machine.device.ClearError();
  prompt.Finish();
  machine.tier->FirstTokenOut();
  machine.Settle();
  machine.FinishSteps();
  EXPECT_EQ(prompt.num_wrong(), 0);
  EXPECT_EQ(machine.NumLostPlaces(), 0);
  ExpectAccountsAgree(machine);
  EXPECT_EQ(machine.checker->num_wrong(), 0);
  EXPECT_EQ(machine.NumWrongSlots(), 0);
  // What did not run, behind a failed copy, has proved nothing.
  if (machine.num_failed_steps == 0) {
    EXPECT_EQ(machine.checker->num_read(), machine.checker->num_launched());
  }
  EXPECT_GT(machine.checker->num_read(), machine.checker->num_launched() * 9 / 10);
  EXPECT_GE(prompt.num_run(), prompt.num_launched() * 3 / 4);
  const TierCounters counters = machine.tier->counters();
  EXPECT_EQ(counters.swaps_decided,
            counters.swaps_visible + counters.swaps_failed + counters.swaps_dropped);
  const SlotCache& slots = machine.tier->slots();
  EXPECT_EQ(slots.NumIn(SlotState::kResident) + slots.NumIn(SlotState::kEmpty), slots.num_slots());
  EXPECT_EQ(machine.patches->num_free(), machine.patches->num_stages());
  EXPECT_EQ(machine.stages->num_free(), machine.stages->num_stages());
}

TEST(TierPropertyTest, SoakOfSwapsWithSlowReorderedAndFailingCopiesReadsNoWrongByte) {
  const uint64_t seed = TestSeed();
  const int64_t num_swaps = TestSteps(40000);
  int64_t num_read = 0, num_failed = 0, num_dropped = 0, num_steps = 0, num_failed_steps = 0;
  int64_t loans = 0, num_run = 0, lent = 0, refilled = 0, visible = 0, num_launched = 0;
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::mt19937_64 random(seed + round);
    constexpr std::array kHosts = {Host::kRegistered, Host::kArena, Host::kPageable};
    TierMachine::Options options = OptionsOfChurn(kHosts[round % 3], seed + round);
    options.image = round != 2;
    TierMachine machine(options, {.max_delay_yields = static_cast<int>((seed + round) % 3),
                                  .shuffle_batches = true,
                                  .seed = seed + round});
    machine.tier->StartFill(SlotVerify::kNone);
    machine.faulty = true;
    if (round >= 2) {
      for (const Call call : {Call::kCopy, Call::kRunCopy, Call::kRecord}) {
        machine.device.faults().FailRandomly(call, 0.0005, random());
      }
    }
    Prompt prompt(machine);
    num_steps += Churn(machine, prompt, num_swaps / kRounds, round < 3 ? 0.02 : 0.005, random);
    ExpectWhole(machine, prompt);
    const TierCounters counters = machine.tier->counters();
    num_read += machine.checker->num_read();
    num_launched += machine.checker->num_launched();
    loans += prompt.num_launched();
    num_run += prompt.num_run();
    num_failed += counters.swaps_failed;
    num_dropped += counters.swaps_dropped;
    num_failed_steps += machine.num_failed_steps;
    visible += counters.swaps_visible;
    lent += counters.lent;
    refilled += counters.refilled;
  }
  std::cout << visible << " swaps shown in " << num_steps << " steps, " << num_failed << " failed, "
            << num_dropped << " dropped; " << num_failed_steps << " steps failed; " << lent
            << " slots lent to " << loans << " prompts on a stream of their own, of which "
            << num_run << " worked, " << refilled << " refilled; " << num_read << " of "
            << num_launched << " experts read by steps" << std::endl;
  EXPECT_GT(num_failed, 0);
}

}  // namespace
}  // namespace strata
