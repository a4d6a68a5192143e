// SwapPolicy, as it is, behind the interface of the policies: counts that decay by rounds, and
// swaps by copies at the end of a round, among all experts and not only the step's candidates.
//
// Used by one thread. It wants no landing.
#ifndef STRATA_CACHE_POLICY_ROUND_POLICY_H_
#define STRATA_CACHE_POLICY_ROUND_POLICY_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/swap_policy.h"

namespace strata {

class RoundPolicy : public ExpertPolicy {
 public:
  // `expected_uses` as for SwapPolicy::Seed; empty: counts begin at zero.
  RoundPolicy(const ExpertGeometry& geometry, const SwapPolicy::Options& options,
              absl::Span<const int> hottest_first, absl::Span<const float> expected_uses);

  absl::string_view name() const override { return "rounds"; }
  bool Wants(int /*number*/) override { return false; }
  absl::Span<const Admission> EndStep(const Step& step) override;
  void SetPlace(int number, Place place) override { places_[number] = place; }

  // Nothing is decided before the first call.
  void SetRates(const SwapRates& rates) { rates_ = rates; }
  // While copies are under way, rounds pass without a decision.
  void SetBusy(bool busy) { busy_ = busy; }

 private:
  SwapPolicy policy_;
  SwapRates rates_;
  bool busy_ = false;
  int64_t num_steps_ = 0;
  std::vector<Place> places_;
  std::vector<Admission> admissions_;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_ROUND_POLICY_H_
