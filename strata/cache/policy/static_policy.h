// The slots keep what they were filled with.
#ifndef STRATA_CACHE_POLICY_STATIC_POLICY_H_
#define STRATA_CACHE_POLICY_STATIC_POLICY_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

class StaticPolicy : public ExpertPolicy {
 public:
  absl::string_view name() const override { return "static"; }
  bool Wants(int /*number*/) override { return false; }
  absl::Span<const Admission> EndStep(const Step& /*step*/) override { return {}; }
  void SetPlace(int /*number*/, Place /*place*/) override {}
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_STATIC_POLICY_H_
