#include "strata/cache/policy/landing_rule.h"

#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/learned_policy.h"
#include "strata/cache/policy/use_count_policies.h"

namespace strata {

absl::string_view NameOf(LandingRule rule) {
  return rule == LandingRule::kLearned ? "learned" : "adaptive";
}

std::optional<LandingRule> ParseLandingRule(absl::string_view name) {
  for (const LandingRule rule : {LandingRule::kAdaptive, LandingRule::kLearned}) {
    if (name == NameOf(rule)) return rule;
  }
  return std::nullopt;
}

std::unique_ptr<LandingPolicy> MakeLandingPolicy(LandingRule rule, const ExpertGeometry& geometry,
                                                 absl::Span<const int> hottest_first,
                                                 absl::Span<const float> uses_per_step) {
  if (rule == LandingRule::kLearned) {
    return std::make_unique<LearnedPolicy>(geometry, hottest_first, uses_per_step);
  }
  return std::make_unique<DecayedCountPolicy>(geometry, hottest_first, uses_per_step);
}

}  // namespace strata
