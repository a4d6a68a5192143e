#include "strata/generate/kernels/router.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/blocks/decode.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/kernels/numerics.h"
#include "strata/generate/kernels/softmax.h"
#include "strata/generate/kernels/vector_math.h"

namespace strata {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr float kSmallestSum = 0x1p-14f;  // The smallest normal half, 6.1035e-5.

// Indices of the `count` greatest, best first.
std::vector<int> BestOf(absl::Span<const float> scores, int count) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [scores](int a, int b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  order.resize(count);
  return order;
}

// What the experts are ranked by, before the selection bias.
std::vector<float> Probabilities(Gating gating, absl::Span<const float> logits) {
  std::vector<float> result(logits.begin(), logits.end());
  switch (gating) {
    case Gating::kSoftmax:
      Softmax(absl::MakeSpan(result));
      return result;
    case Gating::kSigmoid:
      for (float& value : result) value = f32::Sigmoid(value);
      return result;
    case Gating::kSoftmaxOfChosen:
      return result;
    case Gating::kSqrtSoftplus:
      for (float& value : result) value = f32::Sqrt(f32::Softplus(value));
      return result;
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

bool RouterLogits(const WeightMatrix& router, absl::Span<const float> x, absl::Span<float> logits) {
  CHECK_EQ(static_cast<int64_t>(x.size()), router.columns);
  CHECK_EQ(static_cast<int64_t>(logits.size()), router.rows);
  std::vector<float> row(x.size());
  bool finite = true;
  for (int64_t expert = 0; expert < router.rows; ++expert) {
    DecodeRow(router.type, router.row(expert), absl::MakeSpan(row));
    logits[expert] = Dot(row, x);
    finite = finite && f32::IsFinite(logits[expert]);
  }
  return finite;
}

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

std::vector<ExpertChoice> Router::Choose(absl::Span<const float> logits) const {
  CHECK_EQ(logits.size(), static_cast<size_t>(options_.num_experts));
  const std::vector<float> probabilities = Probabilities(options_.gating, logits);
  std::vector<float> scores = probabilities;
  for (size_t e = 0; e < options_.selection_bias.size(); ++e) {
    scores[e] = f32::Add(scores[e], options_.selection_bias[e]);
  }
  KeepBestGroups(absl::MakeSpan(scores));
  std::vector<ExpertChoice> chosen;
  for (int expert : BestOf(scores, options_.num_chosen)) chosen.push_back({.expert = expert});
  Weigh(logits, probabilities, chosen);
  return chosen;
}

void Router::KeepBestGroups(absl::Span<float> scores) const {
  if (options_.num_groups == 1) return;
  const size_t group_size = scores.size() / options_.num_groups;
  std::vector<float> group_scores;
  for (int g = 0; g < options_.num_groups; ++g) {
    const absl::Span<const float> group = scores.subspan(g * group_size, group_size);
    const std::vector<int> best = BestOf(group, static_cast<int>(std::min<size_t>(2, group_size)));
    const float second = best.size() == 2 ? group[best[1]] : 0.0f;
    group_scores.push_back(f32::Add(group[best[0]], second));
  }
  std::vector<bool> kept(options_.num_groups, false);
  for (int g : BestOf(group_scores, options_.num_groups_used)) kept[g] = true;
  for (size_t e = 0; e < scores.size(); ++e) {
    if (!kept[e / group_size]) scores[e] = kMinusInfinity;
  }
}

void Router::Weigh(absl::Span<const float> logits, absl::Span<const float> probabilities,
                   std::vector<ExpertChoice>& chosen) const {
  if (options_.gating == Gating::kSoftmaxOfChosen) {
    SoftmaxOfChosen(logits, absl::MakeSpan(chosen));
  } else {
    for (ExpertChoice& choice : chosen) choice.weight = probabilities[choice.expert];
  }
  if (options_.normalize) {
    DivideWeights(std::max(SumOfWeights(chosen), kSmallestSum), absl::MakeSpan(chosen));
  }
  if (options_.scale != 0.0f && options_.scale != 1.0f) {
    for (ExpertChoice& choice : chosen) choice.weight = f32::Mul(choice.weight, options_.scale);
  }
}

}  // namespace strata
