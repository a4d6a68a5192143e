// Which policy decides what lands, by name: what a run was told, what its trace records, and what a
// replay of it makes again.
#ifndef STRATA_CACHE_POLICY_LANDING_RULE_H_
#define STRATA_CACHE_POLICY_LANDING_RULE_H_

#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/landing_policy.h"

namespace strata {

// As traces number them.
enum class LandingRule {
  kAdaptive,  // DecayedCountPolicy.
  kLearned,   // LearnedPolicy: fewer misses, for more of the decode thread's time.
};
constexpr int kNumLandingRules = 2;

// The name() of its policy.
absl::string_view NameOf(LandingRule rule);
std::optional<LandingRule> ParseLandingRule(absl::string_view name);

// `hottest_first` as for SlotPlan; `uses_per_step` is what a profile lets expect, by number. Both
// may be empty.
std::unique_ptr<LandingPolicy> MakeLandingPolicy(LandingRule rule, const ExpertGeometry& geometry,
                                                 absl::Span<const int> hottest_first,
                                                 absl::Span<const float> uses_per_step);

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_LANDING_RULE_H_
