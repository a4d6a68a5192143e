// The policies by name, as replays compare them.
#ifndef STRATA_CACHE_SIMULATE_POLICIES_H_
#define STRATA_CACHE_SIMULATE_POLICIES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/swap_policy.h"

namespace strata {

// What a policy begins with.
struct PolicyStart {
  std::vector<int> hottest_first;    // As for SlotPlan; may be empty.
  std::vector<float> uses_per_step;  // By number, as a profile lets expect; may be empty.
};

struct PolicySettings {
  double decay = 0.99;  // Of `adaptive`, each step.
  SwapPolicy::Options rounds;
  SwapRates rates;  // Of `rounds`.
};

// static, lru, lfu, adaptive, rounds, s3fifo, learned: the order of tables.
absl::Span<const absl::string_view> PolicyNames();

// A UsageError for a name that is none of these.
absl::StatusOr<std::unique_ptr<ExpertPolicy>> MakePolicy(absl::string_view name,
                                                         const ExpertGeometry& geometry,
                                                         const PolicyStart& start,
                                                         const PolicySettings& settings);

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_POLICIES_H_
