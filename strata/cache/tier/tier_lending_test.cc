// Lending: what leaves, what comes back and when, and prompts that end early, fail, or follow each
// other too soon.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/testing/late_work.h"
#include "strata/cache/tier/testing/tier_machine.h"
#include "strata/core/device_events.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using ::testing::ElementsAre;

// Eight slots with experts 0 to 3 of both layers; nothing is swapped.
TierMachine::Options Static() {
  TierMachine::Options options;
  options.tier.policy.max_swaps = 0;
  return options;
}

// A prompt's use of the memory: it writes all of it on the stream of the kernels.
void Scribble(TierMachine& machine, SlotLoan& loan) {
  machine.device.Launch(machine.stream, [memory = loan.memory()] {
    std::memset(memory.data(), 0xee, memory.size());
  });
  loan.ReleaseAfter(*machine.device.Record(machine.stream));
}

void ExpectSound(TierMachine& machine) {
  machine.FinishSteps();
  EXPECT_EQ(machine.checker->num_wrong(), 0);
  EXPECT_EQ(machine.NumWrongSlots(), 0);
  EXPECT_EQ(machine.tier->counters().waits_for_swaps, 0);
}

TEST(TierLendingTest, LendsTheTailInOnePieceAndServesItsExpertsFromTheirAliases) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  machine.StepWith({0, 3});
  absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(3);
  ASSERT_TRUE(loan.ok()) << loan.status();
  EXPECT_EQ(loan->num_slots(), 3);
  EXPECT_EQ(loan->memory().data(), machine.tier->slots().data(5));
  EXPECT_EQ(loan->memory().data() + loan->memory().size(),
            machine.tier->slots().data(0) + machine.plan.bytes());
  Scribble(machine, *loan);
  const int64_t hits = machine.tier->counters().hits;
  machine.StepWith({0, 3});
  // Slots 5 to 7 held expert 2 of layer 1 and expert 3 of both.
  EXPECT_EQ(machine.tier->counters().hits - hits, 2);
  EXPECT_EQ(machine.tier->counters().lent, 3);
  ExpectSound(machine);
}

TEST(TierLendingTest, LendsTheFewestSlotsThatHoldTheBytesAndSaysWhenAllDoNot) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  const int64_t last_two = machine.plan.SlotBytes(7) + machine.plan.SlotBytes(6);
  EXPECT_EQ(machine.tier->Lend(last_two)->num_slots(), 2);
  EXPECT_EQ(machine.tier->Lend(last_two + 1)->num_slots(), 3);
  EXPECT_EQ(machine.tier->Lend(machine.plan.bytes())->num_slots(), 8);
  EXPECT_TRUE(absl::IsResourceExhausted(machine.tier->Lend(machine.plan.bytes() + 1).status()));
  EXPECT_EQ(machine.tier->LendSlots(1000)->num_slots(), 8);
  EXPECT_EQ(machine.tier->LendSlots(0)->num_slots(), 0);
  ExpectSound(machine);
}

TEST(TierLendingTest, RefusesASecondLoanWhileOneIsOut) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  const absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(2);
  EXPECT_TRUE(absl::IsFailedPrecondition(machine.tier->LendSlots(2).status()));
}

TEST(TierLendingTest, BringsThemBackAfterTheFirstTokenAndNotBefore) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  {
    absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(5);
    ASSERT_TRUE(loan.ok());
    Scribble(machine, *loan);
  }
  for (int i = 0; i < 20; ++i) machine.StepWith({0, 1, 2, 3});
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 3);
  machine.tier->FirstTokenOut();
  machine.Settle();
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 8);
  EXPECT_EQ(machine.tier->counters().refilled, 5);
  EXPECT_GT(machine.tier->counters().refill_ns, 0);
  ExpectSound(machine);
}

TEST(TierLendingTest, BringsTheHottestBackFirst) {
  TierMachine::Options options = Static();
  options.tier.policy.decay = 0.999;
  options.tier.fill_chunk = 1;
  struct Recorder : TierObserver {
    void OnLeft(int64_t, int expert, int, LeftFor why) override {
      EXPECT_EQ(why, LeftFor::kLoan);
      left.push_back(expert);
    }
    void OnCameBack(int64_t, int expert, int, CameBy how) override {
      EXPECT_EQ(how, left.empty() ? CameBy::kFill : CameBy::kRefill);
      came.push_back(expert);
    }
    std::vector<int> left, came;
  } recorder;
  options.tier.observer = &recorder;
  TierMachine machine(options);
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  for (int i = 0; i < 3; ++i) machine.Step({{{3}, {}}});
  for (int i = 0; i < 2; ++i) machine.Step({{{}, {3}}});
  machine.Step({{{2}, {}}});
  recorder.came.clear();
  machine.tier->LendSlots(4).value();
  EXPECT_THAT(recorder.left, ElementsAre(2, 18, 3, 19));
  machine.tier->FirstTokenOut();
  machine.Settle();
  EXPECT_THAT(recorder.came, ElementsAre(3, 19, 2, 18));
}

TEST(TierLendingTest, APromptThatEndsEarlyLeavesTheSlotsEmptyForTheNext) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  machine.tier->LendSlots(4).value();  // Over at once, and no token comes.
  machine.StepWith({0, 1, 2, 3});
  absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(6);
  ASSERT_TRUE(loan.ok());
  Scribble(machine, *loan);
  *loan = SlotLoan();
  machine.tier->FirstTokenOut();
  machine.Settle();
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 8);
  EXPECT_EQ(machine.tier->counters().refilled, 6) << "four left once, two more later";
  EXPECT_EQ(machine.tier->counters().lent, 10);
  ExpectSound(machine);
}

TEST(TierLendingTest, ASecondPromptWhileTheFirstOnesExpertsComeBackIsSafe) {
  for (int num_steps = 0; num_steps < 6; ++num_steps) {
    SCOPED_TRACE(num_steps);
    TierMachine machine(Static(), {.max_delay_yields = 20});
    ASSERT_TRUE(machine.tier->Fill({}).ok());
    machine.tier->LendSlots(8).value();
    machine.tier->FirstTokenOut();
    for (int i = 0; i < num_steps; ++i) machine.StepWith({0, 1, 2, 3});
    absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(7);
    ASSERT_TRUE(loan.ok()) << loan.status();
    Scribble(machine, *loan);
    machine.StepWith({0, 1, 2, 3});
    *loan = SlotLoan();
    machine.tier->FirstTokenOut();
    machine.Settle();
    EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 8);
    ExpectSound(machine);
  }
}

TEST(TierLendingTest, CopiesNothingIntoMemoryThatThePromptStillUses) {
  TierMachine::Options options = Static();
  options.image = false;
  TierMachine machine(options, {.copies = HostDevice::kHeld});
  machine.tier->StartFill(SlotVerify::kNone);
  while (!machine.tier->fill_done()) {
    machine.StepWith({});
    machine.device.RunHeldCopies();
  }
  // The prompt's work waits behind a copy that is held.
  absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(4);
  ASSERT_TRUE(loan.ok()) << loan.status();
  const DeviceStream other = *machine.device.CreateStream();
  const PinnedMemory source = *machine.device.AllocatePinned(8);
  ASSERT_TRUE(machine.device
                  .CopyToDevice(loan->memory().data(),
                                absl::MakeConstSpan(source.data(), source.size()), other)
                  .ok());
  loan->ReleaseAfter(*machine.device.Record(other));
  *loan = SlotLoan();
  machine.tier->FirstTokenOut();
  for (int i = 0; i < 10; ++i) {
    machine.tier->BeginStep();
    machine.tier->EndStep({});
    EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kCopying), 0);
  }
  machine.device.RunHeldCopies();
  machine.tier->BeginStep();
  machine.tier->EndStep({});
  EXPECT_GT(machine.tier->slots().NumIn(SlotState::kCopying), 0);
  while (machine.tier->slots().NumIn(SlotState::kResident) < 8) {
    machine.device.RunHeldCopies();
    machine.tier->BeginStep();
    machine.tier->EndStep({});
  }
  EXPECT_EQ(machine.NumWrongSlots(), 0);
}

TEST(TierLendingTest, ASecondLoanDoesNotForgetTheWorkOfTheFirst) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  LateWork work(machine.device);
  {
    SlotLoan first = *machine.tier->LendSlots(4);
    first.ReleaseAfter(work.WriteOver(first.memory()));
  }
  {
    const SlotLoan second = *machine.tier->LendSlots(4);
    DeviceEvents ready_after = second.ready_after();
    EXPECT_FALSE(ready_after.HaveEnded(machine.device)) << "the first loan's work may still write";
  }
  machine.tier->FirstTokenOut();
  for (int i = 0; i < 10; ++i) {
    machine.StepWith({0, 1, 2, 3});
    EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kCopying), 0);
  }
  work.LetRun();
  machine.StepUntil({0}, [&] { return machine.tier->counters().refilled == 4; });
  ExpectSound(machine);
}

TEST(TierLendingTest, AllStreamsThatAPromptWorksOnMustHaveEnded) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  LateWork work(machine.device);
  {
    SlotLoan loan = *machine.tier->LendSlots(4);
    loan.ReleaseAfter(work.WriteOver(loan.memory()));
    Scribble(machine, loan);  // Ends at once.
  }
  machine.tier->FirstTokenOut();
  for (int i = 0; i < 10; ++i) {
    machine.StepWith({0, 1, 2, 3});
    EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kCopying), 0);
  }
  work.LetRun();
  machine.StepUntil({0}, [&] { return machine.tier->counters().refilled == 4; });
  ExpectSound(machine);
}

TEST(TierLendingTest, AFillThatIsWaitedForCopiesBehindTheWorkOfALoanThatIsOver) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  LateWork work(machine.device);
  {
    SlotLoan loan = *machine.tier->LendSlots(4);
    loan.ReleaseAfter(work.WriteOver(loan.memory()));
  }
  work.LetRunSoon();
  const absl::StatusOr<FillReport> report = machine.tier->Fill({.verify = SlotVerify::kAll});
  ASSERT_TRUE(report.ok()) << report.status();
  machine.device.Drain(work.stream());
  EXPECT_EQ(report->num_experts, 4);
  ExpectSound(machine);
}

TEST(TierLendingTest, TheTiersEndWaitsForTheWorkOfLoans) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  LateWork work(machine.device);
  {
    SlotLoan loan = *machine.tier->LendSlots(4);
    loan.ReleaseAfter(work.WriteOver(loan.memory()));
  }
  machine.StepWith({0});
  machine.FinishSteps();
  work.LetRunSoon();
  machine.tier.reset();
  EXPECT_TRUE(work.has_run()) << "it writes to memory that is gone";
}

TEST(TierLendingTest, WhatWaitsToComeBackComesBackAfterAFillInBetween) {
  TierMachine machine({.host = TierMachine::Host::kArena});
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  machine.StepUntil({8, 9}, [&] { return machine.ServesFromSlots({8, 9}); });
  machine.Settle();
  // Experts that the plan does not name leave, and a fill of the plan's comes before they are back.
  machine.tier->LendSlots(8).value();
  machine.tier->StartFill(SlotVerify::kNone);
  machine.tier->FirstTokenOut();
  machine.Settle();
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 8);
  // The plan's experts had got places of the arena when others took their slots.
  EXPECT_EQ(machine.NumLostPlaces(), 0);
  machine.tier->LendSlots(8).value();
  machine.tier->FirstTokenOut();
  machine.Settle();
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 8);
  ExpectSound(machine);
}

TEST(TierLendingTest, WaitsForCopiesUnderWayAndCountsThatApart) {
  TierMachine machine(Static(), {.copy_bytes_per_second = 1e6});
  machine.tier->StartFill(SlotVerify::kNone);
  machine.StepWith({0});
  const absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(4);
  ASSERT_TRUE(loan.ok()) << loan.status();
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kCopying), 0);
  EXPECT_EQ(machine.tier->counters().lend_waits, 1);
  EXPECT_GT(machine.tier->counters().lend_wait_ns, 0);
  ExpectSound(machine);
}

TEST(TierLendingTest, ARefillThatFailsLeavesExpertsAtTheirAliases) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  machine.tier->LendSlots(4).value();
  machine.FinishSteps();
  machine.device.faults().FailNth(Call::kRunCopy, 1);
  machine.faulty = true;
  machine.tier->FirstTokenOut();
  machine.Settle();
  machine.device.faults().Heal();
  machine.device.ClearError();
  machine.StepWith({0, 1, 2, 3});
  ExpectSound(machine);
  const TierCounters counters = machine.tier->counters();
  EXPECT_EQ(counters.refilled + counters.fills_failed, 4);
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 4 + counters.refilled);
}

TEST(TierLendingTest, LendsNothingWhenTheTableCannotBeChanged) {
  TierMachine machine(Static());
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  machine.StepWith({0});
  machine.FinishSteps();
  machine.device.faults().FailNth(Call::kCopy, 1);
  EXPECT_FALSE(machine.tier->LendSlots(4).ok());
  machine.device.faults().Heal();
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 8);
  const absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(4);
  ASSERT_TRUE(loan.ok()) << loan.status();
  machine.StepWith({0, 1, 2, 3});
  ExpectSound(machine);
}

TEST(TierLendingTest, LendsInTheMiddleOfARoundOfSwaps) {
  for (int num_steps = 1; num_steps < 8; ++num_steps) {
    for (const TierMachine::Host host :
         {TierMachine::Host::kRegistered, TierMachine::Host::kArena}) {
      TierMachine machine({.host = host}, {.max_delay_yields = 20});
      ASSERT_TRUE(machine.tier->Fill({}).ok());
      for (int i = 0; i < num_steps; ++i) machine.StepWith({8, 9, 10});
      absl::StatusOr<SlotLoan> loan = machine.tier->LendSlots(6);
      ASSERT_TRUE(loan.ok()) << loan.status();
      Scribble(machine, *loan);
      for (int i = 0; i < num_steps; ++i) machine.StepWith({8, 9, 10});
      *loan = SlotLoan();
      machine.tier->FirstTokenOut();
      machine.Settle();
      const TierCounters counters = machine.tier->counters();
      EXPECT_EQ(counters.swaps_decided,
                counters.swaps_visible + counters.swaps_dropped + counters.swaps_failed);
      EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 8);
      EXPECT_EQ(machine.NumLostPlaces(), 0);
      ExpectSound(machine);
    }
  }
}

TEST(TierLendingTest, LoansDoNotUseUpTheSparePlacesOfTheArena) {
  TierMachine machine({.host = TierMachine::Host::kArena});
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  for (int i = 0; i < 40; ++i) {
    const int first = i % 2 == 0 ? 8 : 0;
    machine.StepWith({first, first + 1, first + 2});
    if (i % 4 == 3) machine.tier->LendSlots(3).value();
    if (i % 8 == 7) machine.tier->FirstTokenOut();
  }
  machine.tier->FirstTokenOut();
  machine.Settle();
  EXPECT_EQ(machine.NumLostPlaces(), 0);
  EXPECT_GE(machine.arena->num_spare_places(), 4);
  const int64_t visible = machine.tier->counters().swaps_visible;
  machine.StepUntil({12, 13}, [&] { return machine.ServesFromSlots({12, 13}); });
  EXPECT_GT(machine.tier->counters().swaps_visible, visible);
  ExpectSound(machine);
}

}  // namespace
}  // namespace strata
