// The classic policies, as scores that rise: see RisingScorePolicy.
//
// `uses_per_step` is what a profile lets expect of each expert, by number; empty: nothing is known.
#ifndef STRATA_CACHE_POLICY_USE_COUNT_POLICIES_H_
#define STRATA_CACHE_POLICY_USE_COUNT_POLICIES_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/rising_score_policy.h"

namespace strata {

// Least recently used: every candidate comes in. Started from a profile when there is a ranking.
class LruPolicy : public RisingScorePolicy {
 public:
  LruPolicy(const ExpertGeometry& geometry, absl::Span<const int> hottest_first)
      : RisingScorePolicy(geometry, hottest_first) {}
  absl::string_view name() const override { return "lru"; }

 private:
  double Raised(double /*score*/, int /*uses*/) const override {
    return static_cast<double>(step_);
  }
  void Raise(absl::Span<const ExpertUse> uses, std::vector<double>& scores) override;
  void EndUses() override { ++step_; }

  int64_t step_ = 1;
};

// Least frequently used: counts that forget nothing.
class LfuPolicy : public RisingScorePolicy {
 public:
  // As many steps of the profile as counts begin with.
  static constexpr double kProfileSteps = 1000;

  LfuPolicy(const ExpertGeometry& geometry, absl::Span<const int> hottest_first,
            absl::Span<const float> uses_per_step);
  absl::string_view name() const override { return "lfu"; }

 private:
  double Raised(double score, int uses) const override { return score + uses; }
  void Raise(absl::Span<const ExpertUse> uses, std::vector<double>& scores) override;
  void EndUses() override {}
};

// Counts that decay by a factor each step: a use `a` steps ago weighs decay^a.
class DecayedCountPolicy : public RisingScorePolicy {
 public:
  static constexpr double kDefaultDecay = 0.99;

  // `decay` is above 0 and below 1.
  DecayedCountPolicy(const ExpertGeometry& geometry, absl::Span<const int> hottest_first,
                     absl::Span<const float> uses_per_step, double decay = kDefaultDecay);
  absl::string_view name() const override { return "adaptive"; }

 private:
  double Raised(double score, int uses) const override { return score + uses * weight_; }
  void RaiseEach(absl::Span<const double> scores, absl::Span<double> raised) const override;
  void Raise(absl::Span<const ExpertUse> uses, std::vector<double>& scores) override;
  void EndUses() override;

  const double decay_;
  double weight_ = 1;  // Of a use now, in units of the uses of the first step.
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_USE_COUNT_POLICIES_H_
