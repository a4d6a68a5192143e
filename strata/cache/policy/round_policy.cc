#include "strata/cache/policy/round_policy.h"

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {

RoundPolicy::RoundPolicy(const ExpertGeometry& geometry, const SwapPolicy::Options& options,
                         absl::Span<const int> hottest_first, absl::Span<const float> expected_uses)
    : policy_(geometry, options, hottest_first), places_(geometry.size(), Place::kHost) {
  if (!expected_uses.empty()) policy_.Seed(expected_uses);
}

absl::Span<const ExpertPolicy::Admission> RoundPolicy::EndStep(const Step& step) {
  admissions_.clear();
  for (const ExpertUse& use : step.uses) {
    policy_.CountUses(use.number, use.accepted);
  }
  const SwapPolicy::Options& options = policy_.options();
  if (++num_steps_ % options.adapt_every != 0 || options.max_swaps == 0) return admissions_;
  if (rates_.copy_bytes_per_ns > 0 && !busy_) {
    for (const SwapPolicy::Swap& swap : policy_.Decide(rates_, places_, step.num_empty)) {
      admissions_.push_back({.newcomer = swap.newcomer, .victim = swap.victim});
    }
  }
  policy_.EndRound();
  return admissions_;
}

}  // namespace strata
