#include "strata/cache/tier/expert_tier.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/tier/testing/late_work.h"
#include "strata/cache/tier/testing/tier_machine.h"
#include "strata/cache/tier/tier_observer.h"
#include "strata/core/host_device.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;
using Host = TierMachine::Host;

// Hits plus misses are what was routed, nothing was read wrong, and no step waited.
void ExpectSound(TierMachine& machine) {
  machine.FinishSteps();
  const TierCounters counters = machine.tier->counters();
  EXPECT_EQ(counters.routed, counters.hits + counters.num_misses());
  EXPECT_EQ(machine.checker->num_wrong(), 0);
  EXPECT_EQ(machine.NumWrongSlots(), 0);
  EXPECT_EQ(counters.waits_for_swaps, 0);
}

TEST(ExpertTierTest, FillsTheSlotsOfThePlanAndServesTheirExpertsFromThem) {
  TierMachine machine({});
  int64_t num_done = 0;
  const absl::StatusOr<FillReport> report = machine.tier->Fill(
      {.verify = SlotVerify::kAll,
       .progress = [&](const FillProgress& progress) { num_done = progress.num_done; }});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->num_experts, 8);
  EXPECT_EQ(report->num_bytes, machine.plan.bytes());
  EXPECT_EQ(report->num_verified, 8);
  EXPECT_TRUE(report->slot0_verified);
  EXPECT_EQ(num_done, 8);
  EXPECT_GT(report->gb_per_s(), 0);
  EXPECT_EQ(machine.tier->residents(),
            std::vector<int>(machine.plan.experts().begin(), machine.plan.experts().end()));
  machine.StepWith({0, 1, 2, 3, 4});
  ExpectSound(machine);
  // The default ranking: experts 0 to 3 of both layers.
  EXPECT_EQ(machine.tier->counters().hits, 8);
  EXPECT_EQ(machine.tier->counters().misses[static_cast<int>(MissPath::kCpu)], 2);
}

TEST(ExpertTierTest, ComputesFromHostMemoryUntilTheFillInTheBackgroundHasBroughtThem) {
  TierMachine machine({.image = false}, {.copies = HostDevice::kHeld});
  machine.tier->StartFill(SlotVerify::kNone);
  machine.StepWith({0});
  machine.StepWith({0});
  EXPECT_EQ(machine.tier->counters().hits, 0);
  EXPECT_FALSE(machine.tier->fill_done());
  while (!machine.tier->fill_done()) {
    machine.device.RunHeldCopies();
    machine.StepWith({0});
  }
  machine.StepWith({0});
  EXPECT_GE(machine.tier->counters().hits, 2);
  ExpectSound(machine);
}

TEST(ExpertTierTest, VerifiesTheFirstASampleOrAll) {
  for (const auto& [verify, num_verified] :
       std::vector<std::pair<SlotVerify, int>>{{SlotVerify::kNone, 0},
                                               {SlotVerify::kFirst, 1},
                                               {SlotVerify::kSample, 2},
                                               {SlotVerify::kAll, 20}}) {
    TierMachine machine({.budget = SlotBudget::Slots(20)});
    const absl::StatusOr<FillReport> report = machine.tier->Fill({.verify = verify});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->num_verified, num_verified);
    EXPECT_EQ(report->slot0_verified, verify != SlotVerify::kNone);
  }
}

TEST(ExpertTierTest, DoesNotUseSlotsThatCouldNotBeVerified) {
  TierMachine machine({.image = false});
  // Four submissions fill the slots, the fifth copy reads one back.
  machine.device.faults().FailNth(Call::kCopy, 5);
  EXPECT_FALSE(machine.tier->Fill({.verify = SlotVerify::kAll}).ok());
  machine.device.faults().Heal();
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kEmpty), 8);
  EXPECT_EQ(machine.tier->counters().fills_failed, 8);
  machine.StepWith({0});
  ExpectSound(machine);
  EXPECT_EQ(machine.tier->counters().hits, 0);
}

TEST(ExpertTierTest, CallsNoProgressAfterAFillThatFailed) {
  TierMachine machine({});
  // Four submissions fill the slots, the fifth copy is the patch that would show them.
  machine.device.faults().FailNth(Call::kCopy, 5);
  int num_calls = 0;
  EXPECT_FALSE(machine.tier
                   ->Fill({.verify = SlotVerify::kNone,
                           .progress = [&](const FillProgress&) { ++num_calls; }})
                   .ok());
  machine.device.faults().Heal();
  machine.device.ClearError();
  const int calls_of_fill = num_calls;
  machine.Settle();
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 8);
  EXPECT_EQ(num_calls, calls_of_fill);
  ExpectSound(machine);
}

TEST(ExpertTierTest, CallsNoProgressAfterAFillThatHadNothingToDo) {
  TierMachine machine({});
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  int num_calls = 0;
  ASSERT_TRUE(machine.tier->Fill({.progress = [&](const FillProgress&) { ++num_calls; }}).ok());
  const int calls_of_fill = num_calls;
  machine.tier->LendSlots(4).value();
  machine.tier->FirstTokenOut();
  machine.Settle();
  EXPECT_EQ(machine.tier->counters().refilled, 4);
  EXPECT_EQ(num_calls, calls_of_fill);
}

TEST(ExpertTierTest, StepsOnSeveralStreamsKeepWhatEachOfThemReads) {
  TierMachine::Options options;
  options.image = false;
  TierMachine machine(options);
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  // A step on a stream of its own that comes to read its experts late.
  LateWork late(machine.device);
  std::vector<std::byte> anything(1);
  StepChecker checker(machine.device, late.stream(), machine.experts, machine.geometry,
                      machine.tier->table());
  machine.tier->BeginStep();
  late.WriteOver(absl::MakeSpan(anything));
  checker.Launch({0, 1, 2, 3}, /*exactly=*/true);
  machine.tier->EndStep(*machine.device.Record(late.stream()));
  // Meanwhile others make its experts victims.
  for (int i = 0; i < 50; ++i) machine.StepWith({8, 9, 10});
  EXPECT_GT(machine.tier->counters().swaps_decided, 0);
  EXPECT_EQ(machine.tier->counters().swaps_visible, 0);
  late.LetRun();
  machine.StepUntil({8, 9, 10}, [&] { return machine.ServesFromSlots({8, 9, 10}); });
  machine.device.Drain(late.stream());
  EXPECT_EQ(checker.num_read(), 4);
  EXPECT_EQ(checker.num_wrong(), 0);
  ExpectSound(machine);
}

TEST(ExpertTierTest, SwapsWhatIsUsedForWhatIsNotWithoutAnyStepReadingWrongBytes) {
  for (const Host host : {Host::kRegistered, Host::kArena, Host::kPageable}) {
    for (const bool image : {true, false}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(host) << " " << image);
      TierMachine machine({.host = host, .image = image});
      ASSERT_TRUE(machine.tier->Fill({}).ok());
      for (const int first : {8, 12, 8, 12}) {
        const std::vector<int> used = {first, first + 1};
        machine.StepUntil(used, [&] { return machine.ServesFromSlots(used); });
      }
      machine.Settle();
      const TierCounters counters = machine.tier->counters();
      EXPECT_GE(counters.swaps_visible, 8);
      EXPECT_EQ(counters.swaps_decided, counters.swaps_visible);
      EXPECT_GT(counters.hits, 0);
      EXPECT_GT(counters.swap_bytes, 0);
      EXPECT_GT(counters.predicted_saving_ns, 0);
      ExpectSound(machine);
      if (host == Host::kArena) {
        EXPECT_EQ(machine.NumLostPlaces(), 0);
        EXPECT_EQ(machine.arena->num_spare_places(), 4 + 1);
      }
    }
  }
}

TEST(ExpertTierTest, CountsEachRoutedExpertByPathAndItsBytesOnceAStep) {
  TierMachine machine({});
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  const TierMachine::Token token = {{0, 9}, {1}};
  machine.Step({token, token}, /*accepted=*/false);
  machine.FinishSteps();
  const TierCounters counters = machine.tier->counters();
  EXPECT_EQ(counters.routed, 6);
  EXPECT_EQ(counters.hits, 4);
  EXPECT_EQ(counters.misses[static_cast<int>(MissPath::kCpu)], 2);
  const auto bytes_of = [&](int layer) { return machine.geometry.layers()[layer].expert_bytes; };
  EXPECT_EQ(counters.bytes_from(EntryForm::kSlot), bytes_of(0) + bytes_of(1));
  EXPECT_EQ(counters.bytes_from(EntryForm::kRegistered), bytes_of(0));
  EXPECT_EQ(machine.tier->policy().count(0), 0) << "a token that was not accepted moved the policy";
}

TEST(ExpertTierTest, LeavesEntriesEmptyWhereEverythingIsToBeStaged) {
  TierMachine::Options options;
  options.tier.aliases = AliasRule::kStageOnly;
  TierMachine machine(options);
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  EXPECT_EQ(machine.tier->Entry(15).parts[0], nullptr);
  machine.StepWith({0, 15});
  ExpectSound(machine);
  EXPECT_EQ(machine.tier->counters().hits, 2);
  EXPECT_EQ(machine.tier->counters().misses[static_cast<int>(MissPath::kStage)], 2);
  EXPECT_GT(machine.tier->counters().bytes_from(EntryForm::kStage), 0);
}

TEST(ExpertTierTest, NamesNoPageableMemoryToADeviceThatCannotReadIt) {
  TierMachine::Options options = {.host = Host::kPageable};
  options.tier.aliases = AliasRule::kPinnedOnly;
  TierMachine machine(options);
  EXPECT_EQ(machine.tier->Entry(0).form, EntryForm::kStage);
}

TEST(ExpertTierTest, WorksWithoutSlotsAndWithoutAnythingPinned) {
  for (const int num_slots : {0, 1, 32}) {
    TierMachine machine(
        {.num_used = 8, .host = Host::kArena, .budget = SlotBudget::Slots(num_slots)},
        {.pin_limit_bytes = 0});
    EXPECT_EQ(machine.arena, nullptr);
    ASSERT_TRUE(machine.tier->Fill({}).ok());
    for (int i = 0; i < 20; ++i) machine.StepWith({0, 1, 2, 3, 4, 5, 6, 7});
    machine.Settle();
    ExpectSound(machine);
    const TierCounters counters = machine.tier->counters();
    EXPECT_EQ(counters.routed, 20 * 16);
    if (num_slots == 0) {
      EXPECT_EQ(counters.hits, 0);
    }
    if (num_slots == 1) {
      EXPECT_GE(counters.hits, 20);
    }
    if (num_slots == 32) {
      EXPECT_EQ(counters.hits, counters.routed);
    }
  }
}

TEST(ExpertTierTest, AFailedCopyLeavesTheEntryAtItsAliasAndTheSlotUsable) {
  TierMachine machine({.image = false});
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  machine.device.faults().FailNth(Call::kRunCopy, 1);
  for (int i = 0; i < 5; ++i) machine.StepWith({9});
  while (machine.tier->counters().swaps_failed == 0) machine.StepWith({9});
  machine.device.faults().Heal();
  machine.device.ClearError();
  for (int i = 0; i < 100; ++i) machine.StepWith({9});
  machine.Settle();
  ExpectSound(machine);
  EXPECT_GT(machine.tier->counters().swaps_visible, 0);
  EXPECT_EQ(machine.tier->slots().NumIn(SlotState::kResident), 8);
}

// Writes down which experts are served from slots at each step, as a trace would.
class Replay : public TierObserver {
 public:
  void OnRates(int64_t, const SwapRates& rates) override { rates_.push_back(rates); }
  void OnSwapDecided(int64_t, const SwapPolicy::Swap&) override { ++num_decided_; }
  void OnSwapVisible(int64_t step, const SwapPolicy::Swap& swap, const SwapRates&, int) override {
    changes_.push_back({step, swap.newcomer, true});
  }
  void OnLeft(int64_t step, int expert, int, LeftFor) override {
    changes_.push_back({step, expert, false});
  }
  void OnCameBack(int64_t step, int expert, int, CameBy) override {
    changes_.push_back({step, expert, true});
  }

  // Hits of the experts that were used in each step, from the changes alone.
  int64_t HitsOf(const std::vector<std::vector<int>>& used_by_step) const {
    std::vector<int> resident;
    size_t next = 0;
    int64_t hits = 0;
    for (size_t step = 0; step < used_by_step.size(); ++step) {
      for (; next < changes_.size() && changes_[next].step <= static_cast<int64_t>(step); ++next) {
        const auto place = std::find(resident.begin(), resident.end(), changes_[next].expert);
        EXPECT_EQ(place == resident.end(), changes_[next].came);
        if (changes_[next].came) {
          resident.push_back(changes_[next].expert);
        } else if (place != resident.end()) {
          resident.erase(place);
        }
      }
      for (const int expert : used_by_step[step]) {
        hits += std::count(resident.begin(), resident.end(), expert);
      }
    }
    return hits;
  }
  const std::vector<SwapRates>& rates() const { return rates_; }
  int64_t num_decided() const { return num_decided_; }

 private:
  struct Change {
    int64_t step;
    int expert;
    bool came;
  };
  std::vector<Change> changes_;
  std::vector<SwapRates> rates_;
  int64_t num_decided_ = 0;
};

TEST(ExpertTierTest, TellsItsObserverEnoughToReplayEveryHit) {
  Replay replay;
  TierMachine::Options options;
  options.tier.observer = &replay;
  TierMachine machine(options);
  machine.tier->StartFill(SlotVerify::kSample);
  std::vector<std::vector<int>> used;
  for (int i = 0; i < 300; ++i) {
    const std::vector<int> indices = {i / 40 % 16, (i / 40 + 7) % 16};
    machine.StepWith(indices);
    used.push_back({indices[0], indices[1], 16 + indices[0], 16 + indices[1]});
    if (i == 100) machine.tier->LendSlots(5).value();
    if (i == 110) machine.tier->FirstTokenOut();
    if (i == 150) machine.tier->SetRates({.copy_bytes_per_ns = 1, .miss_fixed_ns = 99});
  }
  // On a busy machine all these steps may be over before the next decision.
  machine.Settle();
  ExpectSound(machine);
  const TierCounters counters = machine.tier->counters();
  EXPECT_GT(counters.swaps_visible, 0);
  EXPECT_EQ(replay.HitsOf(used), counters.hits);
  EXPECT_EQ(replay.num_decided(), counters.swaps_decided);
  EXPECT_EQ(replay.rates().size(), 2u);
}

TEST(ExpertTierTest, ServesModelsOf512ExpertsAndTopKsBeyondTheSlotsOfALayer) {
  TierMachine::Options options = {
      .experts = {.num_layers = 3, .num_experts = 512, .slice_bytes = {64, 64, 64}},
      .num_used = 10,
      .budget = SlotBudget::Slots(6),
      .patch_bytes = 4096};
  options.tier.policy.max_swaps = 32;
  TierMachine machine(options);
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  const std::vector<int> used = {3, 40, 77, 114, 151, 188, 225, 262, 299, 511};
  const int num_steps =
      machine.StepUntil(used, [&] { return machine.tier->counters().swaps_visible == 6; });
  machine.StepWith(used);
  machine.Settle();
  ExpectSound(machine);
  const TierCounters counters = machine.tier->counters();
  EXPECT_EQ(counters.routed, (num_steps + 1) * 30);
  EXPECT_EQ(counters.swaps_visible, 6) << "all are used alike: no more than the slots are swapped";
  EXPECT_GT(counters.hits, 0);
}

TEST(ExpertTierTest, MeasuresWhatSwapsSaveOverTheHorizonTheyWereDecidedFor) {
  TierMachine::Options options;
  options.tier.policy = {.adapt_every = 1, .max_swaps = 4, .decay = 0.9, .margin = 0};
  TierMachine machine(options);
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  // Used every round: the prediction, made from few rounds, is less than what comes.
  machine.StepUntil({9}, [&] { return machine.tier->counters().swaps_visible == 2; });
  for (int i = 0; i < 20; ++i) machine.StepWith({9});
  machine.FinishSteps();
  const TierCounters counters = machine.tier->counters();
  EXPECT_EQ(counters.swaps_visible, 2);
  EXPECT_EQ(counters.settled_predicted_ns, counters.predicted_saving_ns);
  // Ten uses of each over the horizon of ten rounds, one copy.
  const double bytes = machine.geometry.BlobBytes(0) + machine.geometry.BlobBytes(16);
  EXPECT_DOUBLE_EQ(counters.realized_saving_ns, 9 * bytes);
}

TEST(ExpertTierTest, SwapsTakeNoMoreOfTheCoresThanTheirShareOfTheTime) {
  TierMachine::Options options;
  options.tier.swap_share = 1e-6;  // A pause of minutes for every millisecond.
  TierMachine machine(options);
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  machine.StepUntil({8, 9}, [&] { return machine.tier->counters().swaps_visible > 0; });
  const int64_t decided = machine.tier->counters().swaps_decided;
  for (int i = 0; i < 50; ++i) machine.StepWith({12, 13});
  ExpectSound(machine);
  EXPECT_EQ(machine.tier->counters().swaps_decided, decided);
  EXPECT_GE(machine.tier->counters().rounds_skipped, 50);
}

TEST(ExpertTierTest, TurnsAdaptationOffWithNoSwaps) {
  TierMachine::Options options;
  options.tier.policy.max_swaps = 0;
  TierMachine machine(options);
  ASSERT_TRUE(machine.tier->Fill({}).ok());
  for (int i = 0; i < 20; ++i) machine.StepWith({9});
  ExpectSound(machine);
  EXPECT_EQ(machine.tier->counters().swaps_decided, 0);
  EXPECT_EQ(machine.tier->counters().hits, 0);
}

}  // namespace
}  // namespace strata
