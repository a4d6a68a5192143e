// Policies whose order of experts changes by uses alone: every use raises the expert's score, and
// time leaves the order of the others as it is. Least recently used (the score is the last step),
// least frequently used (a count) and decayed counts (a use weighs more the later it is) are such
// policies. A candidate comes in when it is hotter than the coldest resident of its size class.
//
// A use costs O(1), an admission O(log residents): entries of a heap stay as they are while scores
// rise and are put right when they come to the top. Used by one thread.
#ifndef STRATA_CACHE_POLICY_RISING_SCORE_POLICY_H_
#define STRATA_CACHE_POLICY_RISING_SCORE_POLICY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/landing_policy.h"

namespace strata {

class RisingScorePolicy : public LandingPolicy {
 public:
  bool Wants(int number) final;
  void FindWanted(absl::Span<uint8_t> wanted) final;
  absl::Span<const Admission> EndStep(const Step& step) final;
  void SetPlace(int number, Place place) final;

  double score(int number) const { return scores_[number]; }
  // By score, then by rank.
  bool IsHotter(int number, int other) const final {
    return IsHotter(scores_[number], number, scores_[other], other);
  }

 protected:
  RisingScorePolicy(const ExpertGeometry& geometry, absl::Span<const int> hottest_first);

  // The score of an expert of that score after so many uses, one or more, in this step: higher.
  virtual double Raised(double score, int uses) const = 0;
  // The same for one use of each.
  virtual void RaiseEach(absl::Span<const double> scores, absl::Span<double> raised) const;
  // The same for all uses of a step.
  virtual void Raise(absl::Span<const ExpertUse> uses, std::vector<double>& scores) = 0;
  // A step has ended and its uses are counted.
  virtual void EndUses() = 0;

  void SetScore(int number, double score) { scores_[number] = score; }
  // Multiplies all scores by a power of two below 1, which changes no order.
  void ScaleScores(double factor);

 private:
  struct Entry {
    double score = 0;
    int32_t number = 0;
  };

  bool IsHotter(double score, int number, double other_score, int other) const {
    if (score != other_score) return score > other_score;
    return order_.Rank(number) < order_.Rank(other);
  }
  void Push(int number);
  void Pop(int size_class);
  // The coldest resident of the class; -1 when there is none.
  int Coldest(int size_class);
  void TakeBackVictims();
  // Candidates that may come in, hottest first, into candidates_.
  void SelectCandidates(absl::Span<const int> candidates);
  void Admit(int candidate);

  const ExpertOrder order_;
  const int num_experts_;  // Of a layer.
  std::vector<double> scores_;
  std::vector<Place> places_;
  std::vector<bool> in_heap_;              // An entry stays after its expert has left.
  std::vector<std::vector<Entry>> heaps_;  // By size class, the coldest at the front.
  std::vector<int> num_empty_;
  std::vector<int> candidates_;
  std::vector<Admission> admissions_;
  std::vector<double> raised_;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_RISING_SCORE_POLICY_H_
