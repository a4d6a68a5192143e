// Policies beside each other and beside the optimum, over a range of cache sizes: what tables and
// reports show.
#ifndef STRATA_CACHE_SIMULATE_COMPARISON_H_
#define STRATA_CACHE_SIMULATE_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/simulate/cache_replay.h"
#include "strata/cache/simulate/policies.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"
#include "strata/cache/simulate/speed_forecast.h"

namespace strata {

// The name of the optimum among those of policies.
constexpr absl::string_view kBelady = "belady";

// What a profile lets policies begin with.
PolicyStart StartFrom(const ExpertProfile& profile);

struct ComparisonOptions {
  std::vector<std::string> policies;  // PolicyNames and kBelady.
  PolicySettings settings;
  CacheReplay::Options replay;  // `rounds` always brings experts by copies.
  // The slots are filled with the first of the ranking; otherwise they are empty.
  bool starts_filled = true;
  MachineRates machine;
};

struct PolicyResult {
  std::string policy;
  ReplayCounts counts;
  // Uses that crossed the link, over those of the optimum; 0 where the optimum has none.
  double times_optimum = 0;
  SpeedForecast speed;
  std::vector<double> hit_rates;  // Of equal parts of the run, in order; empty for kBelady.
};

struct SizeResult {
  int num_slots = 0;
  int64_t slot_bytes = 0;
  // Blobs are of several sizes: the optimum is that of these slots, and this the bound of any slots
  // of so many bytes, in uses; -1 where all are of one size.
  int64_t bound_missed_uses = -1;
  std::vector<PolicyResult> policies;  // As in the options.
};

// UsageError for names that are none.
absl::Status CheckPolicies(const std::vector<std::string>& names);

// The start is of the log's geometry.
absl::StatusOr<SizeResult> CompareAt(const RoutingLog& log, const PolicyStart& start,
                                     const SlotBudget& size, const ComparisonOptions& options);

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_COMPARISON_H_
