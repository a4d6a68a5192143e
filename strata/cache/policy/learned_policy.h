// Keeps the experts that NextUseModel holds likeliest to be used soon. A candidate comes in when it
// is likelier than the resident of its size class that is least so.
//
// Used by one thread; nothing is allocated after the first steps.
#ifndef STRATA_CACHE_POLICY_LEARNED_POLICY_H_
#define STRATA_CACHE_POLICY_LEARNED_POLICY_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/next_use_model.h"

namespace strata {

class LearnedPolicy : public ExpertPolicy {
 public:
  // As for DecayedCountPolicy.
  LearnedPolicy(const ExpertGeometry& geometry, absl::Span<const int> hottest_first,
                absl::Span<const float> uses_per_step);

  absl::string_view name() const override { return "learned"; }
  bool Wants(int number) override;
  absl::Span<const Admission> EndStep(const Step& step) override;
  void SetPlace(int number, Place place) override;

 private:
  bool IsHotter(int number, int other) const {
    if (scores_[number] != scores_[other]) return scores_[number] > scores_[other];
    return order_.Rank(number) < order_.Rank(other);
  }
  // The coldest residents of the class, at most `most`, coldest first, into victims_.
  void FindVictims(int size_class, size_t most);
  void AdmitOfClass(int size_class, size_t num_empty);

  const ExpertOrder order_;
  NextUseModel model_;
  absl::Span<const float> scores_;
  std::vector<Place> places_;
  std::vector<std::vector<int>> residents_;  // By size class, in no order.
  std::vector<int> position_;                // By number: its place among the residents; -1.
  std::vector<float> coldest_;               // By size class: the score of the coldest resident.
  std::vector<int> candidates_;
  std::vector<int> victims_;
  std::vector<Admission> admissions_;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_LEARNED_POLICY_H_
