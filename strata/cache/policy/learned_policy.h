// Keeps the experts that NextUseModel holds likeliest to be used soon. A candidate comes in when it
// is likelier than the resident of its size class that is least so. Misses are wanted when they are
// likelier by kMargin in the long run: few can land, and those that a burst has just made hot would
// take the places of better ones.
//
// Used by one thread; nothing is allocated after the first steps.
#ifndef STRATA_CACHE_POLICY_LEARNED_POLICY_H_
#define STRATA_CACHE_POLICY_LEARNED_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/landing_policy.h"
#include "strata/cache/policy/next_use_model.h"

namespace strata {

class LearnedPolicy : public LandingPolicy {
 public:
  static constexpr float kMargin = 0.2f;  // A logarithm of odds, to base 2.

  // As for DecayedCountPolicy.
  LearnedPolicy(const ExpertGeometry& geometry, absl::Span<const int> hottest_first,
                absl::Span<const float> uses_per_step);

  absl::string_view name() const override { return "learned"; }
  bool Wants(int number) override {
    return model_.scores_if_used()[number] > wanted_above_[order_.ClassOf(number)];
  }
  void FindWanted(absl::Span<uint8_t> wanted) override;
  absl::Span<const Admission> EndStep(const Step& step) override;
  void SetPlace(int number, Place place) override;
  bool IsHotter(int number, int other) const override { return HeatOf(number) > HeatOf(other); }

 private:
  // Orders experts: by score, then by rank. The lower half is the number's.
  using Heat = uint64_t;

  Heat HeatOf(int number) const;
  int NumberOf(Heat heat) const { return number_of_rank_[~static_cast<uint32_t>(heat)]; }
  // The coldest residents of the class, at most `most`, coldest first, into victims_.
  void FindVictims(int size_class, size_t most);
  void CollectColder(absl::Span<const int> residents, float limit);
  void SelectCandidates(absl::Span<const int> candidates, int size_class);
  void AdmitOfClass(int size_class, size_t num_empty);

  const ExpertOrder order_;
  const int num_experts_;  // Of a layer.
  NextUseModel model_;
  absl::Span<const float> scores_;
  std::vector<int> number_of_rank_;
  std::vector<Place> places_;
  std::vector<std::vector<int>> residents_;  // By size class, in no order.
  std::vector<int> position_;                // By number: its place among the residents; -1.
  std::vector<float> wanted_above_;          // By size class.
  std::vector<float> victims_below_;         // By size class: where victims were of late, and more.
  std::vector<Heat> candidates_, victims_;
  std::vector<Admission> admissions_;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_LEARNED_POLICY_H_
