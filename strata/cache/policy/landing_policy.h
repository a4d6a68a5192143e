// A policy that chooses what may land (landing.h of the tier): before a step it says of all experts
// at once which misses are wanted, and which residents make way where slots must be offered.
#ifndef STRATA_CACHE_POLICY_LANDING_POLICY_H_
#define STRATA_CACHE_POLICY_LANDING_POLICY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

class LandingPolicy : public ExpertPolicy {
 public:
  // What Wants says of each expert that is in host memory, by number: 1 for those that are wanted,
  // 0 for all others.
  virtual void FindWanted(absl::Span<uint8_t> wanted) = 0;
  // Of any two experts one is.
  virtual bool IsHotter(int number, int other) const = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_LANDING_POLICY_H_
