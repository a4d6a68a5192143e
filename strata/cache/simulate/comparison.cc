#include "strata/cache/simulate/comparison.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/round_policy.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/simulate/cache_replay.h"
#include "strata/cache/simulate/optimum.h"
#include "strata/cache/simulate/policies.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

constexpr size_t kParts = 40;  // Of a run, for its course.

bool IsPolicy(absl::string_view name) {
  const absl::Span<const absl::string_view> names = PolicyNames();
  return name == kBelady || std::find(names.begin(), names.end(), name) != names.end();
}

// Steps one after the other, with the hit rate of each part of the run.
PolicyResult Replay(const RoutingLog& log, absl::Span<const int> slots,
                    absl::Span<const int> residents, CacheReplay::Options options,
                    ExpertPolicy& policy) {
  auto* const rounds = dynamic_cast<RoundPolicy*>(&policy);
  if (rounds != nullptr) options.mode = AdmissionMode::kCopies;
  CacheReplay replay(log.geometry(), options, slots, residents, policy);
  PolicyResult result = {.policy = std::string(policy.name())};
  ReplayCounts before;
  for (size_t step = 0; step < log.num_steps(); ++step) {
    if (rounds != nullptr) rounds->SetBusy(replay.busy());
    replay.Step(log.uses(step), log.num_tokens(step));
    const bool part_ends = (step + 1) * kParts / log.num_steps() > step * kParts / log.num_steps();
    if (!part_ends) continue;
    const ReplayCounts part = {.routed = replay.counts().routed - before.routed,
                               .hits = replay.counts().hits - before.hits};
    result.hit_rates.push_back(part.hit_rate());
    before = replay.counts();
  }
  result.counts = replay.counts();
  return result;
}

}  // namespace

PolicyStart StartFrom(const ExpertProfile& profile) {
  PolicyStart start = {.hottest_first = profile.Rank()};
  const auto tokens = static_cast<double>(std::max<uint64_t>(1, profile.num_tokens()));
  for (const uint64_t count : profile.counts()) {
    start.uses_per_step.push_back(static_cast<float>(static_cast<double>(count) / tokens));
  }
  return start;
}

absl::Status CheckPolicies(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (IsPolicy(name)) continue;
    return UsageError(absl::StrCat("there is no policy \"", name, "\"; there are ",
                                   absl::StrJoin(PolicyNames(), ", "), " and ", kBelady));
  }
  return absl::OkStatus();
}

absl::StatusOr<SizeResult> CompareAt(const RoutingLog& log, const PolicyStart& start,
                                     const SlotBudget& size, const ComparisonOptions& options) {
  const ExpertGeometry& geometry = log.geometry();
  const SlotPlan plan(geometry, size, start.hottest_first);
  const std::vector<int> slots = SlotsOfClass(plan);
  absl::Span<const int> residents;
  if (options.starts_filled) residents = plan.experts();
  const ReplayCounts optimum = Optimum(log, slots, residents);
  SizeResult result = {.num_slots = plan.num_slots(), .slot_bytes = plan.bytes()};
  if (slots.size() > 1) result.bound_missed_uses = OptimumBound(log, plan.bytes(), residents);
  for (const std::string& name : options.policies) {
    PolicyResult of_policy = {.policy = name, .counts = optimum};
    if (name != kBelady) {
      ASSIGN_OR_RETURN(const std::unique_ptr<ExpertPolicy> policy,
                       MakePolicy(name, geometry, start, options.settings));
      of_policy = Replay(log, slots, residents, options.replay, *policy);
    }
    if (optimum.missed_uses > 0) {
      of_policy.times_optimum = static_cast<double>(of_policy.counts.transfers()) /
                                static_cast<double>(optimum.missed_uses);
    }
    of_policy.speed = ForecastSpeed(options.machine, of_policy.counts);
    result.policies.push_back(of_policy);
  }
  return result;
}

}  // namespace strata
