#include "strata/generate/kernels/router.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/kernels/softmax.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr float kSmallestSum = 0x1p-14f;  // The smallest normal half, 6.1035e-5.

// order[0, count) = the indices of the `count` greatest, best first.
void RankBest(absl::Span<const float> scores, int count, std::vector<int>& order) {
  order.resize(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [scores](int a, int b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
}

// What the experts are ranked by, before the selection bias: from logits, in their place.
void ToProbabilities(Gating gating, absl::Span<float> values) {
  switch (gating) {
    case Gating::kSoftmax:
      return Softmax(values);
    case Gating::kSigmoid:
      for (float& value : values) value = f32::Sigmoid(value);
      return;
    case Gating::kSoftmaxOfChosen:
      return;
    case Gating::kSqrtSoftplus:
      for (float& value : values) value = f32::Sqrt(f32::Softplus(value));
      return;
  }
  LOG(FATAL) << "no such gating: " << static_cast<int>(gating);
}

float SumOfWeights(absl::Span<const ExpertChoice> chosen) {
  float sum = 0.0f;
  for (const ExpertChoice& choice : chosen) sum = f32::Add(sum, choice.weight);
  return sum;
}

void DivideWeights(float divisor, absl::Span<ExpertChoice> chosen) {
  for (ExpertChoice& choice : chosen) choice.weight = f32::Div(choice.weight, divisor);
}

// Weights of the chosen from their logits; sums run by rank.
void SoftmaxOfChosen(absl::Span<const float> logits, absl::Span<ExpertChoice> chosen) {
  float max = kMinusInfinity;
  for (const ExpertChoice& choice : chosen) max = std::max(max, logits[choice.expert]);
  for (ExpertChoice& choice : chosen) {
    choice.weight = f32::Exp(f32::Sub(logits[choice.expert], max));
  }
  DivideWeights(SumOfWeights(chosen), chosen);
}

}  // namespace

Router::Router(const RouterOptions& options) : options_(options) {
  CHECK(options.num_groups > 0 && options.num_experts % options.num_groups == 0)
      << options.num_experts << " experts in " << options.num_groups << " groups";
  CHECK(0 < options.num_groups_used && options.num_groups_used <= options.num_groups);
  const int group_size = options.num_experts / options.num_groups;
  CHECK(0 < options.num_chosen && options.num_chosen <= group_size * options.num_groups_used)
      << options.num_chosen << " of " << options.num_experts;
  CHECK(options.selection_bias.empty() ||
        options.selection_bias.size() == static_cast<size_t>(options.num_experts));
}

void Router::Choose(absl::Span<const float> logits, RouterScratch& scratch,
                    absl::Span<ExpertChoice> chosen) const {
  CHECK_EQ(logits.size(), static_cast<size_t>(options_.num_experts));
  CHECK_EQ(chosen.size(), static_cast<size_t>(options_.num_chosen));
  scratch.probabilities.assign(logits.begin(), logits.end());
  ToProbabilities(options_.gating, absl::MakeSpan(scratch.probabilities));
  scratch.scores = scratch.probabilities;
  for (size_t e = 0; e < options_.selection_bias.size(); ++e) {
    scratch.scores[e] = f32::Add(scratch.scores[e], options_.selection_bias[e]);
  }
  KeepBestGroups(absl::MakeSpan(scratch.scores));
  RankBest(scratch.scores, options_.num_chosen, scratch.order);
  for (size_t rank = 0; rank < chosen.size(); ++rank) chosen[rank].expert = scratch.order[rank];
  Weigh(logits, scratch.probabilities, chosen);
}

void Router::KeepBestGroups(absl::Span<float> scores) const {
  if (options_.num_groups == 1) return;
  const size_t group_size = scores.size() / options_.num_groups;
  std::vector<float> group_scores;
  std::vector<int> order;
  for (int g = 0; g < options_.num_groups; ++g) {
    const absl::Span<const float> group = scores.subspan(g * group_size, group_size);
    const int num_best = static_cast<int>(std::min<size_t>(2, group_size));
    RankBest(group, num_best, order);
    const float second = num_best == 2 ? group[order[1]] : 0.0f;
    group_scores.push_back(f32::Add(group[order[0]], second));
  }
  RankBest(group_scores, options_.num_groups_used, order);
  std::vector<bool> kept(options_.num_groups, false);
  for (int rank = 0; rank < options_.num_groups_used; ++rank) kept[order[rank]] = true;
  for (size_t e = 0; e < scores.size(); ++e) {
    if (!kept[e / group_size]) scores[e] = kMinusInfinity;
  }
}

void Router::Weigh(absl::Span<const float> logits, absl::Span<const float> probabilities,
                   absl::Span<ExpertChoice> chosen) const {
  if (options_.gating == Gating::kSoftmaxOfChosen) {
    SoftmaxOfChosen(logits, chosen);
  } else {
    for (ExpertChoice& choice : chosen) choice.weight = probabilities[choice.expert];
  }
  if (options_.normalize) {
    DivideWeights(std::max(SumOfWeights(chosen), kSmallestSum), chosen);
  }
  if (options_.scale != 0.0f && options_.scale != 1.0f) {
    for (ExpertChoice& choice : chosen) choice.weight = f32::Mul(choice.weight, options_.scale);
  }
}

}  // namespace strata
