// Random schedules of steps, swaps, fills and loans against a device whose copies are slow,
// overtake each other and fail. Every step reads every expert that it uses, on its own stream at
// its own time, and compares it with the file; slots are compared as well, a sample of them each
// round and all in the end.
//
// STRATA_TEST_STEPS sets the number of swaps; 1,000,000 take half a minute.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
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

void LendForAPrompt(TierMachine& machine, std::mt19937_64& random) {
  absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(1 + random() % 128);
  if (!loan.ok()) {
    EXPECT_TRUE(machine.faulty) << loan.status();
    machine.device.ClearError();
    return;
  }
  if (random() % 2 == 0) {
    machine.device.Launch(machine.stream, [memory = loan->memory()] {
      std::memset(memory.data(), 0xee, memory.size());
    });
    const absl::StatusOr<DeviceEvent> event = machine.device.Record(machine.stream);
    if (event.ok()) {
      loan->ReleaseAfter(*event);
    } else {
      machine.device.Drain(machine.stream);
      machine.device.ClearError();
      while (!machine.tier->RecoverTable().ok()) machine.device.ClearError();
    }
  }
  for (int i = random() % 3; i > 0; --i) {
    machine.Step({RandomToken(machine.geometry, random), RandomToken(machine.geometry, random)});
  }
}

// Steps until so many swaps have shown; returns the number of steps.
int64_t Churn(TierMachine& machine, int64_t num_swaps, double lend_probability,
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
    if (std::bernoulli_distribution(lend_probability)(random)) LendForAPrompt(machine, random);
    if (random() % 8 == 0) machine.tier->FirstTokenOut();
    if (num_steps > 1000 + 100 * num_swaps) {
      ADD_FAILURE() << "swaps have stopped at " << visible;
      break;
    }
  }
  return num_steps;
}

// Everything is back in its place and every slot is right.
void ExpectWhole(TierMachine& machine) {
  machine.device.faults().Heal();
  machine.device.ClearError();
  machine.tier->FirstTokenOut();
  machine.Settle();
  machine.FinishSteps();
  ExpectAccountsAgree(machine);
  EXPECT_EQ(machine.checker->num_wrong(), 0);
  EXPECT_EQ(machine.NumWrongSlots(), 0);
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
  int64_t lent = 0, refilled = 0, visible = 0;
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
    num_steps += Churn(machine, num_swaps / kRounds, 0.002, random);
    ExpectWhole(machine);
    const TierCounters counters = machine.tier->counters();
    num_read += machine.checker->num_read();
    num_failed += counters.swaps_failed;
    num_dropped += counters.swaps_dropped;
    num_failed_steps += machine.num_failed_steps;
    visible += counters.swaps_visible;
    lent += counters.lent;
    refilled += counters.refilled;
  }
  std::cout << visible << " swaps shown in " << num_steps << " steps, " << num_failed << " failed, "
            << num_dropped << " dropped; " << num_failed_steps << " steps failed; " << lent
            << " slots lent, " << refilled << " refilled; " << num_read << " experts read by steps"
            << std::endl;
  EXPECT_GT(num_failed, 0);
}

}  // namespace
}  // namespace strata
