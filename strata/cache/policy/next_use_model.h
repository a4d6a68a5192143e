// Learns, while a text is being generated, how likely each expert is to be used within the next few
// steps: a logistic regression on the logarithms of
// - its share of the steps' uses lately, over three spans (decays of 0.8, 0.97 and 0.995 a step),
// - and what the experts of its layer that the last step used were followed by so far: a table of
//   pairs (this expert in one step, that one in the next), as far as it fits into kMostPairs.
// each relative to that of a layer whose experts are used alike. Every step trains on one layer, in
// turn, as it was kHorizon steps ago. One set of weights serves all experts, so a few hundred steps
// teach it how bursty this text is; every share keeps a weight above zero, so uses never make an
// expert colder.
//
// A step scores the experts that it used, and half of the layers, in turn: other scores are as of
// the step before, which saves a third of the time and costs less than 1 % of the misses.
//
// Arithmetic in single precision without the C library: the same steps give the same bits
// everywhere. Used by one thread; nothing is allocated after the constructor.
#ifndef STRATA_CACHE_POLICY_NEXT_USE_MODEL_H_
#define STRATA_CACHE_POLICY_NEXT_USE_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

class NextUseModel {
 public:
  static constexpr int kHorizon = 5;  // Steps.
  static constexpr int kNumTurns = 2;
  static constexpr int64_t kMostPairs = int64_t{1} << 24;

  // `uses_per_step` is what a profile lets expect, by number; empty: nothing is known.
  NextUseModel(const ExpertGeometry& geometry, absl::Span<const float> uses_per_step);

  // Counts a step's uses, scores, and learns from the steps before.
  void AddStep(absl::Span<const ExpertUse> uses);
  // The higher, the likelier to be used soon. By number.
  absl::Span<const float> scores() const { return scores_; }
  // The scores that experts would have after a use by the next step, without what it would add to
  // the shortest span, which every use has: what they are worth in the long run. By number.
  absl::Span<const float> scores_if_used() const { return scores_if_used_; }

 private:
  static constexpr int kNumSpans = 3;
  static constexpr int kNumFeatures = kNumSpans + 2;  // The pairs, and a constant.

  // The features of one layer's experts at one step, to learn from later.
  struct Lesson {
    int64_t step = -1;
    int layer = 0;
    std::array<std::vector<float>, kNumSpans + 1> features;  // Without the constant.
  };
  // Of a list of experts, what their scores are made of: as used_.
  struct UsedInputs {
    std::array<std::vector<float>, kNumSpans> shares;
    std::vector<float> followers, scores, scores_if_used;
  };

  void CountUses(absl::Span<const ExpertUse> uses);
  void Rescale(int span);
  void CountPairs();
  void ScoreUsed();
  // And learns from one of the layers whose turn it is.
  void ScoreTurn(bool follows_nothing);
  void ScoreLayer(int layer);
  void PredictFollowers(int layer, bool follows_nothing);
  void Learn(const Lesson& lesson);
  void Keep(int layer, Lesson& lesson) const;

  const int num_experts_;  // Of a layer.
  const int num_layers_;
  const int num_used_;
  const int num_turns_;
  const float even_share_;  // Its logarithm, to base 2.
  // By span, then number: divided by scales_, which shrink in the place of all shares.
  std::array<std::vector<float>, kNumSpans> shares_;
  std::array<float, kNumSpans> scales_;
  std::vector<uint16_t> pairs_;        // By number, then index: how often it followed.
  std::vector<int32_t> num_followed_;  // By number: steps counted in its pairs.
  std::vector<float> followers_;       // By number, logarithms: of the last step's experts.
  std::vector<int> used_;              // Of the step, by accepted tokens; ascending.
  std::vector<int> last_used_;         // Of the step before; empty after a prompt.
  std::vector<int64_t> last_step_;     // By number: in which it was used.
  std::array<float, kNumFeatures> weights_;
  std::array<Lesson, kHorizon> lessons_;  // A ring.
  std::vector<float> errors_;             // Of a lesson.
  std::vector<float> scores_, scores_if_used_;
  UsedInputs used_inputs_;
  int64_t step_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_NEXT_USE_MODEL_H_
