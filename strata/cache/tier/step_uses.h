// Which experts a step used, each once however often it is told: what a policy is asked with.
//
// Used by one thread; nothing is allocated after the constructor.
#ifndef STRATA_CACHE_TIER_STEP_USES_H_
#define STRATA_CACHE_TIER_STEP_USES_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

class StepUses {
 public:
  explicit StepUses(int num_experts) : position_(num_experts, -1) { uses_.reserve(num_experts); }

  // So many tokens chose the expert.
  void Count(int number, int uses, bool accepted) {
    int32_t& position = position_[number];
    if (position < 0) {
      position = static_cast<int32_t>(std::ssize(uses_));
      uses_.push_back({.number = number});
    }
    uses_[position].routed += uses;
    if (accepted) uses_[position].accepted += uses;
  }

  // All so far, ascending by number; nothing may be counted before Clear.
  absl::Span<const ExpertUse> Sorted() {
    std::sort(uses_.begin(), uses_.end(),
              [](const ExpertUse& a, const ExpertUse& b) { return a.number < b.number; });
    return uses_;
  }
  void Clear() {
    for (const ExpertUse& use : uses_) position_[use.number] = -1;
    uses_.clear();
  }

 private:
  std::vector<ExpertUse> uses_;
  std::vector<int32_t> position_;  // By number: in uses_, or -1.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_STEP_USES_H_
