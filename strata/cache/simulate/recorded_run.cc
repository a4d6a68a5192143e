#include "strata/cache/simulate/recorded_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/landing_policy.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/policy/round_policy.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/simulate/cache_replay.h"
#include "strata/cache/simulate/cache_state.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Counts steps as their turn comes: a change of residency is written where it was made, which may
// be before or after the step that it names.
class Recount {
 public:
  explicit Recount(const TraceHeader& header)
      : geometry_(header.identity.geometry), log_(geometry_), state_(geometry_) {
    for (const TierSettings::Slot& slot : header.tier.slots) {
      if (slot.expert >= 0) state_.SetResident(slot.expert, true);
    }
  }

  void AddStep(const RoutedStep& step) {
    log_.Add(step);
    numbers_.push_back(step.number);
  }
  void AddChange(const TraceResidency& change) { changes_.push_back(change); }

  absl::StatusOr<ReplayCounts> Finish() {
    size_t next = 0;
    std::vector<int> missed;
    for (size_t step = 0; step < log_.num_steps(); ++step) {
      for (; next < changes_.size() && changes_[next].step <= numbers_[step]; ++next) {
        RETURN_IF_ERROR(Change(changes_[next]));
      }
      state_.CountStep(log_.uses(step), log_.num_tokens(step), missed);
    }
    for (; next < changes_.size(); ++next) RETURN_IF_ERROR(Change(changes_[next]));
    return state_.counts();
  }

 private:
  absl::Status Change(const TraceResidency& change) {
    if (state_.IsResident(change.expert) == change.resident) {
      return InputError(
          "bad_record", "",
          absl::StrCat("expert ", change.expert, " ",
                       change.resident ? "comes where it is" : "leaves where it is not",
                       ", from step ", change.step));
    }
    state_.SetResident(change.expert, change.resident);
    if (!change.resident) return absl::OkStatus();
    if (change.cause == TraceResidency::Cause::kLanding) ++state_.counts().admissions;
    if (change.cause == TraceResidency::Cause::kSwap) {
      ++state_.counts().admissions;
      ++state_.counts().copies;
      state_.counts().copy_bytes += geometry_.BlobBytes(change.expert);
    }
    return absl::OkStatus();
  }

  const ExpertGeometry& geometry_;
  RoutingLog log_;
  CacheState state_;
  std::vector<int64_t> numbers_;  // By step of the log.
  std::vector<TraceResidency> changes_;
};

// Finds how long rounds took: newcomers of one decision show together.
class DelayFinder {
 public:
  void AddSwap(const TraceSwap& swap) { decided_[swap.newcomer] = swap.step; }
  void AddChange(const TraceResidency& change, std::vector<RecordedRun::Delay>& delays) {
    if (!change.resident || change.cause != TraceResidency::Cause::kSwap) return;
    const auto decided = decided_.find(change.expert);
    if (decided == decided_.end()) return;
    const int64_t after = decided->second;
    decided_.erase(decided);
    if (!delays.empty() && delays.back().step == after) return;
    delays.push_back({after, static_cast<int>(change.step - after - 1)});
  }

 private:
  std::map<int, int64_t> decided_;  // By newcomer: after which step.
};

void AddLandings(const TraceLandings& landings, RecordedRun& run) {
  run.offering_steps.push_back(landings.step);
  run.offered += landings.num_offered;
  run.landed += static_cast<int64_t>(landings.landed.size());
  for (const TraceLandings::Landed& landed : landings.landed) {
    run.landed_bytes += run.header.identity.geometry.BlobBytes(landed.expert);
  }
}

SwapRates RatesOf(const TraceRates& rates) {
  return {.copy_bytes_per_ns = rates.copy_bytes_per_ns,
          .miss_fixed_ns = rates.miss_fixed_ns,
          .miss_ns_per_byte = rates.miss_ns_per_byte};
}

// Slots that a fill at the start will take are taken as filled.
std::vector<int> FirstResidents(const RecordedRun& run) {
  const ExpertGeometry& geometry = run.header.identity.geometry;
  std::vector<int> residents;
  for (const TierSettings::Slot& slot : run.header.tier.slots) {
    if (slot.expert >= 0) residents.push_back(slot.expert);
  }
  if (!residents.empty()) return residents;
  const auto num_slots = static_cast<int64_t>(run.header.tier.slots.size());
  const SlotPlan plan(geometry, SlotBudget::Slots(num_slots), run.header.tier.ranking);
  residents.assign(plan.experts().begin(), plan.experts().end());
  return residents;
}

ReplayCounts PredictLandings(const RoutingLog& log, const RecordedRun& run,
                             absl::Span<const int> slots) {
  const TierSettings& tier = run.header.tier;
  const std::unique_ptr<LandingPolicy> policy =
      MakeLandingPolicy(tier.landing_rule, log.geometry(), tier.ranking, tier.uses_per_step);
  CacheReplay replay(log.geometry(),
                     {.mode = AdmissionMode::kLanding,
                      .offered_share = tier.offered_share,
                      .landing_classes = tier.landing_classes},
                     slots, FirstResidents(run), *policy);
  for (size_t step = 0; step < log.num_steps(); ++step) {
    replay.SetOffers(std::binary_search(run.offering_steps.begin(), run.offering_steps.end(),
                                        static_cast<int64_t>(step)));
    replay.Step(log.uses(step), log.num_tokens(step));
  }
  return replay.counts();
}

}  // namespace

absl::StatusOr<RecordedRun> RecordedRun::Load(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RoutingTraceReader> reader,
                   RoutingTraceReader::Open(path));
  RecordedRun run = {.header = reader->header()};
  Recount recount(run.header);
  DelayFinder delays;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<TraceRecord> record, reader->Next());
    if (!record.has_value()) break;
    if (const auto* step = std::get_if<RoutedStep>(&*record)) recount.AddStep(*step);
    if (const auto* swap = std::get_if<TraceSwap>(&*record)) delays.AddSwap(*swap);
    if (const auto* change = std::get_if<TraceResidency>(&*record)) {
      recount.AddChange(*change);
      delays.AddChange(*change, run.delays);
    }
    if (const auto* rates = std::get_if<TraceRates>(&*record)) run.rates.push_back(*rates);
    if (const auto* landings = std::get_if<TraceLandings>(&*record)) AddLandings(*landings, run);
  }
  absl::StatusOr<ReplayCounts> counts = recount.Finish();
  if (!counts.ok()) return WithFile(counts.status(), path);
  run.counts = *counts;
  return run;
}

absl::StatusOr<ReplayCounts> PredictRun(const std::string& path, const RecordedRun& run) {
  ASSIGN_OR_RETURN(const RoutingLog log, RoutingLog::Load({path}));
  const ExpertGeometry& geometry = log.geometry();
  const TierSettings& tier = run.header.tier;
  std::vector<int> slots(SizeClassesOf(geometry).size(), 0);
  for (const TierSettings::Slot& slot : tier.slots) {
    ++slots[SizeClassOf(SizeClassesOf(geometry), slot.blob_bytes)];
  }
  if (tier.offered_share > 0) return PredictLandings(log, run, slots);
  RoundPolicy policy(geometry,
                     {.adapt_every = std::max(1, tier.adapt_every),
                      .max_swaps = tier.adapt_every == 0 ? 0 : tier.max_swaps,
                      .max_bytes = tier.max_bytes,
                      .decay = tier.decay,
                      .margin = tier.margin},
                     tier.ranking, tier.seed_counts);
  CacheReplay replay(geometry, {.mode = AdmissionMode::kCopies}, slots, FirstResidents(run),
                     policy);
  size_t next = 0, next_delay = 0;
  for (size_t step = 0; step < log.num_steps(); ++step) {
    // As slow as the machine was at this time, and resting when it did (SwapAllowance).
    // A record in which no round showed says nothing of rests.
    bool decided = run.delays.empty();
    while (next_delay < run.delays.size() &&
           run.delays[next_delay].step <= static_cast<int64_t>(step)) {
      decided |= run.delays[next_delay].step == static_cast<int64_t>(step);
      replay.SetCopySteps(run.delays[next_delay++].steps);
    }
    while (next < run.rates.size() && run.rates[next].step <= static_cast<int64_t>(step)) {
      policy.SetRates(RatesOf(run.rates[next++]));
    }
    policy.SetBusy(replay.busy() || !decided);
    replay.Step(log.uses(step), log.num_tokens(step));
  }
  return replay.counts();
}

}  // namespace strata
