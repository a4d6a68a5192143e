// The trace of a run whose misses land says what the tier counted, and the policy, run afresh over
// its routing, decides the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/landing_pools.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/simulate/recorded_run.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/slot_landings.h"
#include "strata/cache/tier/testing/landing_machine.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/placement/tier_trace.h"

namespace strata {
namespace {

constexpr int kNumUsed = 4;
constexpr double kOfferedShare = 0.1;

struct Recorded {
  TierCounters counters;
  RecordedRun run;
  ReplayCounts predicted;
};

// The experts of a step: in each layer a run around what is hot for a while.
StepRouting RandomRouting(const ExpertGeometry& geometry, int64_t step, std::mt19937_64& random) {
  StepRouting routing = {.num_rows = 1, .num_chosen = kNumUsed};
  for (size_t layer = 0; layer < geometry.layers().size(); ++layer) {
    const uint64_t hot = step / 150 * 7 + layer * 3 + random() % 6;
    for (uint64_t rank = 0; rank < kNumUsed; ++rank) {
      routing.experts.push_back(
          static_cast<uint16_t>((hot + rank * (1 + layer)) % geometry.num_experts()));
    }
  }
  return routing;
}

Recorded Record(int num_slots, LandingRule rule, const std::string& path) {
  TierParts::Options options = {
      .experts = {.num_layers = 3, .num_experts = 17, .slice_bytes = {250, 96, 160}},
      .num_used = kNumUsed,
      .budget = SlotBudget::Slots(num_slots)};
  const TestExperts experts(options.experts);
  const ExpertGeometry geometry = GeometryOf(experts, kNumUsed);
  options.tier.policy.max_swaps = 0;  // No copies where nothing lands.
  options.tier.landing_rule = rule;
  std::mt19937_64 random(num_slots);
  options.tier.hottest_first = SlotPlan::DefaultRanking(geometry);
  std::shuffle(options.tier.hottest_first.begin(), options.tier.hottest_first.end(), random);
  for (int number = 0; number < geometry.size(); ++number) {
    options.tier.uses_per_step.push_back(static_cast<float>(random() % 100) / 400);
  }
  TraceHeader header;
  header.identity.geometry = geometry;
  header.tier.ranking = options.tier.hottest_first;
  header.tier.uses_per_step = options.tier.uses_per_step;
  header.tier.offered_share = kOfferedShare;
  header.tier.landing_rule = rule;
  const SlotPlan plan(geometry, options.budget, options.tier.hottest_first);
  const LandingPools pools = SlotLandings::PoolsOf(geometry, experts.files(), plan, kOfferedShare);
  for (int layer = 0; layer < pools.num_layers(); ++layer) {
    header.tier.landing_classes.push_back(pools.ClassOfLayer(layer));
  }
  for (int i = 0; i < pools.num_classes(); ++i) {
    header.tier.num_offered.push_back(pools.num_offered(i));
  }
  for (int slot = 0; slot < num_slots; ++slot) {
    header.tier.slots.push_back({.blob_bytes = plan.SlotBytes(slot)});
  }
  const std::unique_ptr<TierTrace> trace = *TierTrace::Create(path, header);
  options.tier.observer = trace.get();

  Recorded recorded;
  {
    LandingMachine machine(options, kOfferedShare);
    ExpertTier& tier = *machine.parts->tier;
    EXPECT_TRUE(tier.Fill({}).ok());
    for (int64_t step = 0; step < 900; ++step) {
      if (step == 300) tier.SetLanding(false);
      if (step == 310) tier.SetLanding(true);
      const StepRouting routing = RandomRouting(geometry, step, random);
      std::vector<int> numbers;
      for (size_t i = 0; i < routing.experts.size(); ++i) {
        numbers.push_back(static_cast<int>(i / kNumUsed) * geometry.num_experts() +
                          routing.experts[i]);
      }
      EXPECT_TRUE(machine.Step(numbers).ok());
      trace->AddStep(step, routing, RoutedStep::Kind::kDecode);
    }
    EXPECT_TRUE(machine.Step({}).ok());  // What the last one landed.
    EXPECT_EQ(machine.num_wrong(), 0);
    recorded.counters = tier.counters();
  }
  EXPECT_TRUE(trace->Finish().ok());
  absl::StatusOr<RecordedRun> run = RecordedRun::Load(path);
  EXPECT_TRUE(run.ok()) << run.status();
  if (!run.ok()) return recorded;
  recorded.run = *std::move(run);
  const absl::StatusOr<ReplayCounts> predicted = PredictRun(path, recorded.run);
  EXPECT_TRUE(predicted.ok()) << predicted.status();
  if (predicted.ok()) recorded.predicted = *predicted;
  return recorded;
}

class LandingReplayTest : public testing::TestWithParam<LandingRule> {};

TEST_P(LandingReplayTest, TheRecordGivesTheCountsAndThePolicyDecidesTheSameAfresh) {
  for (const int num_slots : {9, 15, 24, 36}) {
    SCOPED_TRACE(testing::Message() << num_slots << " slots");
    const Recorded recorded = Record(num_slots, GetParam(), testing::TempDir() + "/landing.trace");
    const TierCounters& counters = recorded.counters;
    const RecordedRun& run = recorded.run;
    EXPECT_GT(counters.landings_shown, 50);
    EXPECT_GT(counters.landed, counters.landings_shown);
    EXPECT_EQ(run.counts.routed, counters.routed);
    EXPECT_EQ(run.counts.hits, counters.hits);
    EXPECT_EQ(run.counts.slot_bytes, counters.bytes_from(EntryForm::kSlot));
    EXPECT_EQ(run.offered, counters.offered);
    EXPECT_EQ(run.landed, counters.landed);
    EXPECT_EQ(run.landed_bytes, counters.landed_bytes);
    EXPECT_EQ(run.counts.admissions, counters.landings_shown + counters.swaps_visible);
    EXPECT_EQ(run.offering_steps.size(), 900u - 10u + 1u);

    EXPECT_EQ(recorded.predicted.hits, counters.hits);
    EXPECT_EQ(recorded.predicted.missed_uses, run.counts.missed_uses);
    EXPECT_EQ(recorded.predicted.admissions, counters.landings_shown);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, LandingReplayTest,
                         testing::Values(LandingRule::kAdaptive, LandingRule::kLearned),
                         [](const testing::TestParamInfo<LandingRule>& rule) {
                           return std::string(NameOf(rule.param));
                         });

}  // namespace
}  // namespace strata
