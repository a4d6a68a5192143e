#include "strata/cache/policy/use_count_policies.h"

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {

void LruPolicy::Raise(absl::Span<const ExpertUse> uses, std::vector<double>& scores) {
  for (const ExpertUse& use : uses) {
    if (use.accepted > 0) scores[use.number] = static_cast<double>(step_);
  }
}

void LfuPolicy::Raise(absl::Span<const ExpertUse> uses, std::vector<double>& scores) {
  for (const ExpertUse& use : uses) scores[use.number] += use.accepted;
}

void DecayedCountPolicy::Raise(absl::Span<const ExpertUse> uses, std::vector<double>& scores) {
  for (const ExpertUse& use : uses) scores[use.number] += use.accepted * weight_;
}

void DecayedCountPolicy::RaiseEach(absl::Span<const double> scores,
                                   absl::Span<double> raised) const {
  for (size_t i = 0; i < scores.size(); ++i) raised[i] = scores[i] + weight_;
}

LfuPolicy::LfuPolicy(const ExpertGeometry& geometry, absl::Span<const int> hottest_first,
                     absl::Span<const float> uses_per_step)
    : RisingScorePolicy(geometry, hottest_first) {
  for (size_t number = 0; number < uses_per_step.size(); ++number) {
    SetScore(static_cast<int>(number), uses_per_step[number] * kProfileSteps);
  }
}

DecayedCountPolicy::DecayedCountPolicy(const ExpertGeometry& geometry,
                                       absl::Span<const int> hottest_first,
                                       absl::Span<const float> uses_per_step, double decay)
    : RisingScorePolicy(geometry, hottest_first), decay_(decay) {
  CHECK(0 < decay && decay < 1) << "decay " << decay;
  for (size_t number = 0; number < uses_per_step.size(); ++number) {
    SetScore(static_cast<int>(number), uses_per_step[number] / (1 - decay));
  }
}

// Rather than all counts shrinking, a use grows, until the numbers become too large.
void DecayedCountPolicy::EndUses() {
  constexpr double kLargest = 0x1p300;
  weight_ /= decay_;
  if (weight_ < kLargest) return;
  weight_ /= kLargest;
  ScaleScores(1 / kLargest);
}

}  // namespace strata
