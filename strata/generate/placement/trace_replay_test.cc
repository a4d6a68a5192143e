// A trace says which expert was in a slot at every step: counting hits by its records alone gives
// the numbers that the tier counted while it ran.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/block_type.h"
#include "strata/core/host_device.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/placement/expert_placement.h"
#include "strata/generate/placement/placed_experts.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/testing/run_generate.h"

namespace strata {
namespace {

using Prefill = ExpertPlacement::Prefill;

struct Replay {
  int64_t routed = 0;
  int64_t hits = 0;
  int64_t num_changes = 0;
};

std::vector<TraceRecord> ReadTrace(RoutingTraceReader& reader) {
  std::vector<TraceRecord> records;
  while (true) {
    absl::StatusOr<std::optional<TraceRecord>> record = reader.Next();
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok() || !record->has_value()) return records;
    records.push_back(**record);
  }
}

// Records of residency stand where they were made, before or after the step that they name.
Replay ReplayTrace(const std::string& path) {
  Replay replay;
  const auto reader = RoutingTraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return replay;
  const ExpertGeometry& geometry = (*reader)->geometry();
  std::set<int> resident;
  for (const TierSettings::Slot& slot : (*reader)->header().tier.slots) {
    if (slot.expert >= 0) resident.insert(slot.expert);
  }
  std::vector<TraceResidency> changes;
  std::vector<RoutedStep> steps;
  for (const TraceRecord& record : ReadTrace(**reader)) {
    if (const auto* change = std::get_if<TraceResidency>(&record)) changes.push_back(*change);
    if (const auto* step = std::get_if<RoutedStep>(&record)) steps.push_back(*step);
  }
  replay.num_changes = static_cast<int64_t>(changes.size());
  size_t next = 0;
  for (const RoutedStep& step : steps) {
    for (; next < changes.size() && changes[next].step <= step.number; ++next) {
      const TraceResidency& change = changes[next];
      // Nothing comes twice, and nothing leaves that is not there.
      EXPECT_EQ(resident.count(change.expert), change.resident ? 0u : 1u);
      if (change.resident) {
        resident.insert(change.expert);
      } else {
        resident.erase(change.expert);
      }
    }
    for (size_t layer = 0; layer < geometry.layers().size(); ++layer) {
      for (int token = 0; token < step.num_accepted; ++token) {
        for (const int index : step.Chosen(geometry, layer, token)) {
          const int block = geometry.layers()[layer].block;
          ++replay.routed;
          replay.hits += resident.count(geometry.NumberOf({.layer = block, .index = index}));
        }
      }
    }
  }
  return replay;
}

// Three answers, the later ones while slots are refilled.
TierCounters RunWith(const OpenModel& model, const ExpertPlacement::Options& options) {
  HostDevice device;
  auto experts = ExpertPlacement::Create(options, *model.file, model.graph, device);
  EXPECT_TRUE(experts.ok()) << experts.status();
  if (!experts.ok()) return {};
  PlacedExperts placed(**experts);
  CpuEngine engine(*model.file, model.graph, {.num_threads = 1}, &placed);
  Generator generator(engine, {.max_new = 40, .prompt_batch = 3});
  for (const std::vector<TokenId>& prompt : std::vector<std::vector<TokenId>>{
           {3, 17, 42, 0, 63, 17, 8}, {9, 1, 44, 12, 30}, {9, 1, 5}}) {
    const absl::StatusOr<Generation> answer = generator.Run(prompt, {});
    EXPECT_TRUE(answer.ok()) << answer.status();
  }
  EXPECT_TRUE((*experts)->FinishTrace().ok());
  return (*experts)->counters();
}

TEST(TraceReplayTest, GivesTheHitsThatTheTierCounted) {
  const OpenModel model(RandomModel{.type = BlockType::kQ4_K, .num_experts = 8}.Write("replayed"));
  const std::string trace = TestFile("trace");
  int64_t hits = 0, misses = 0, changes = 0;
  for (const double percent : {10, 40, 100}) {
    for (const Prefill prefill : {Prefill::kOn, Prefill::kOff, Prefill::kAuto}) {
      for (const int max_swaps : {0, 3}) {
        for (const int lend : {0, 2, 100}) {
          ExpertPlacement::Options options = {.cache = SlotBudget::Percent(percent),
                                              .prefill = prefill,
                                              .lend = lend,
                                              .dump_routing = trace};
          options.swaps.max_swaps = max_swaps;
          options.swaps.adapt_every = 1;
          options.host.choice =
              lend == 2 ? HostPlacement::Choice::kArena : HostPlacement::Choice::kAuto;
          const TierCounters counters = RunWith(model, options);
          const Replay replay = ReplayTrace(trace);
          const std::string name = absl::StrCat(percent, " %, prefill ", static_cast<int>(prefill),
                                                ", ", max_swaps, " swaps, ", lend, " lent");
          EXPECT_EQ(replay.hits, counters.hits) << name;
          EXPECT_EQ(replay.routed, counters.routed) << name;
          EXPECT_EQ(counters.hits + counters.num_misses(), counters.routed) << name;
          hits += replay.hits;
          misses += replay.routed - replay.hits;
          changes += replay.num_changes;
        }
      }
    }
  }
  EXPECT_GT(hits, 0);
  EXPECT_GT(misses, 0);
  EXPECT_GT(changes, 100);
}

}  // namespace
}  // namespace strata
