#include "strata/cache/policy/next_use_model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/fast_math.h"

namespace strata {
namespace {

constexpr float kDecays[] = {0.8f, 0.97f, 0.995f};
// Added to shares before their logarithms are taken: those below it are much the same.
constexpr float kLeastShare = 1e-3f;
// Shares are rewritten when their scale has become so small, and are nothing below the other.
constexpr float kLeastScale = 1e-12f;
constexpr float kNothing = 1e-20f;
// Pairs are halved when an expert has been followed so often: old ones fade.
constexpr int kMostFollowed = 2048;
// A step's layer of experts moves the weights by so much together.
constexpr float kLearningRate = 0.1f;
constexpr float kLogOf2 = 0.69314718f;

// Where learning begins, from the traces of docs/cache-size.md, and between what a weight stays.
constexpr float kFirstSpans[] = {0.1f, 0.2f, 0.7f};
constexpr float kFirstPairs = 0.55f;
constexpr float kLeastWeight = 0.05f;
constexpr float kMostWeight = 3.0f;

// Of being used within the horizon where all experts are used alike: its logarithm of odds.
float FirstConstant(float share) {
  float unused = 1;
  for (int i = 0; i < NextUseModel::kHorizon; ++i) unused *= 1 - share;
  return kLogOf2 *
         (FastLog2(std::max(1 - unused, kLeastShare)) - FastLog2(std::max(unused, kLeastShare)));
}

float ShareIfEven(const ExpertGeometry& geometry) {
  return static_cast<float>(geometry.num_used()) / static_cast<float>(geometry.num_experts());
}

// What scores are made of, from arrays of one length.
struct ScoreInputs {
  std::array<const float*, 3> shares;
  const float* followers;  // Logarithms.
  size_t size;
};

// Without what is the same for all experts.
void ScoreAll(const ScoreInputs& in, const std::array<float, 3> scales,
              const std::array<float, 5> weights, float* __restrict scores,
              float* __restrict scores_if_used) {
  const float* const burst = in.shares[0];
  const float* const middle = in.shares[1];
  const float* const lasting = in.shares[2];
  const float* const followers = in.followers;
  for (size_t i = 0; i < in.size; ++i) {
    const float same =
        weights[0] * FastLog2(burst[i] * scales[0] + kLeastShare) + weights[3] * followers[i];
    const float middle_share = middle[i] * scales[1];
    const float lasting_share = lasting[i] * scales[2];
    scores[i] = same + weights[1] * FastLog2(middle_share + kLeastShare) +
                weights[2] * FastLog2(lasting_share + kLeastShare);
    scores_if_used[i] =
        same + weights[1] * FastLog2(middle_share * kDecays[1] + (1 - kDecays[1] + kLeastShare)) +
        weights[2] * FastLog2(lasting_share * kDecays[2] + (1 - kDecays[2] + kLeastShare));
  }
}

}  // namespace

NextUseModel::NextUseModel(const ExpertGeometry& geometry, absl::Span<const float> uses_per_step)
    : num_experts_(geometry.num_experts()),
      num_layers_(static_cast<int>(geometry.layers().size())),
      num_used_(geometry.num_used()),
      num_turns_(std::min(kNumTurns, num_layers_)),
      even_share_(FastLog2(ShareIfEven(geometry))),
      num_followed_(geometry.size(), 0),
      followers_(geometry.size(), FastLog2(kLeastShare)),
      last_step_(geometry.size(), -1),
      weights_{kFirstSpans[0], kFirstSpans[1], kFirstSpans[2], kFirstPairs,
               FirstConstant(ShareIfEven(geometry))},
      errors_(geometry.num_experts(), 0),
      scores_(geometry.size(), 0),
      scores_if_used_(geometry.size(), 0) {
  scales_.fill(1);
  for (std::vector<float>& shares : shares_) {
    shares.assign(geometry.size(), 0);
    std::copy(uses_per_step.begin(), uses_per_step.end(), shares.begin());
  }
  const int64_t num_pairs = int64_t{geometry.size()} * num_experts_;
  if (num_pairs <= kMostPairs) pairs_.assign(num_pairs, 0);
  last_used_.reserve(geometry.size());
  used_.reserve(geometry.size());
  for (std::vector<float>& shares : used_inputs_.shares) shares.resize(geometry.size());
  used_inputs_.followers.resize(geometry.size());
  used_inputs_.scores.resize(geometry.size());
  used_inputs_.scores_if_used.resize(geometry.size());
  for (Lesson& lesson : lessons_) {
    for (std::vector<float>& feature : lesson.features) feature.resize(num_experts_);
  }
  for (int layer = 0; layer < num_layers_; ++layer) ScoreLayer(layer);
}

void NextUseModel::AddStep(absl::Span<const ExpertUse> uses) {
  used_.clear();
  for (const ExpertUse& use : uses) {
    if (use.accepted > 0) used_.push_back(use.number);
  }
  CountUses(uses);
  // The experts of many tokens together follow nothing in particular.
  const bool is_decode = static_cast<int>(uses.size()) <= 2 * num_used_ * num_layers_;
  if (!pairs_.empty()) {
    if (is_decode) CountPairs();
    last_used_.clear();
    if (is_decode) last_used_ = used_;
  }
  ScoreUsed();
  ScoreTurn(last_used_.empty() && !uses.empty());
  ++step_;
}

void NextUseModel::CountUses(absl::Span<const ExpertUse> uses) {
  for (int span = 0; span < kNumSpans; ++span) {
    scales_[span] *= kDecays[span];
    if (scales_[span] < kLeastScale) Rescale(span);
    float* const shares = shares_[span].data();
    const float of_use = (1 - kDecays[span]) / scales_[span];
    for (const ExpertUse& use : uses) {
      shares[use.number] += of_use * static_cast<float>(use.accepted);
    }
  }
  for (const int number : used_) last_step_[number] = step_;
}

void NextUseModel::Rescale(int span) {
  const float scale = scales_[span];
  for (float& share : shares_[span]) {
    share *= scale;
    if (share < kNothing) share = 0;
  }
  scales_[span] = 1;
}

void NextUseModel::CountPairs() {
  // Both lists ascend, so the uses of a layer are one run.
  size_t begin = 0;
  for (const int before : last_used_) {
    const int first = before / num_experts_ * num_experts_;
    while (begin < used_.size() && used_[begin] < first) ++begin;
    uint16_t* const row = &pairs_[size_t(before) * num_experts_];
    for (size_t i = begin; i < used_.size() && used_[i] < first + num_experts_; ++i) {
      ++row[used_[i] - first];
    }
    if (++num_followed_[before] < kMostFollowed) continue;
    num_followed_[before] /= 2;
    for (int i = 0; i < num_experts_; ++i) row[i] /= 2;
  }
}

void NextUseModel::ScoreUsed() {
  UsedInputs& of = used_inputs_;
  const size_t size = used_.size();
  for (int span = 0; span < kNumSpans; ++span) {
    for (size_t i = 0; i < size; ++i) of.shares[span][i] = shares_[span][used_[i]];
  }
  for (size_t i = 0; i < size; ++i) of.followers[i] = followers_[used_[i]];
  ScoreAll(
      {{of.shares[0].data(), of.shares[1].data(), of.shares[2].data()}, of.followers.data(), size},
      scales_, weights_, of.scores.data(), of.scores_if_used.data());
  for (size_t i = 0; i < size; ++i) {
    scores_[used_[i]] = of.scores[i];
    scores_if_used_[used_[i]] = of.scores_if_used[i];
  }
}

void NextUseModel::ScoreTurn(bool follows_nothing) {
  const int turn = static_cast<int>(step_ % num_turns_);
  const int num_layers = (num_layers_ - turn + num_turns_ - 1) / num_turns_;
  const int to_learn = static_cast<int>(step_ / num_turns_ % num_layers);
  Lesson& lesson = lessons_[step_ % kHorizon];
  if (lesson.step >= 0) Learn(lesson);
  for (int i = 0; i < num_layers; ++i) {
    const int layer = turn + i * num_turns_;
    if (!pairs_.empty()) PredictFollowers(layer, follows_nothing);
    ScoreLayer(layer);
    if (i == to_learn) Keep(layer, lesson);
  }
}

void NextUseModel::PredictFollowers(int layer, bool follows_nothing) {
  const int first = layer * num_experts_;
  float* __restrict const followers = &followers_[first];
  if (follows_nothing) {
    // Nothing in particular: what is used lately.
    for (int i = 0; i < num_experts_; ++i) followers[i] = shares_[1][first + i] * scales_[1];
  } else {
    std::fill_n(followers, num_experts_, 0.0f);
    auto before = std::lower_bound(last_used_.begin(), last_used_.end(), first);
    for (; before != last_used_.end() && *before < first + num_experts_; ++before) {
      const uint16_t* const row = &pairs_[size_t(*before) * num_experts_];
      const float scale = 1 / static_cast<float>((num_followed_[*before] + 1) * num_used_);
      for (int i = 0; i < num_experts_; ++i) followers[i] += scale * static_cast<float>(row[i]);
    }
  }
  for (int i = 0; i < num_experts_; ++i) {
    followers[i] = FastLog2(followers[i] + kLeastShare);
  }
}

void NextUseModel::ScoreLayer(int layer) {
  const int first = layer * num_experts_;
  ScoreAll({{&shares_[0][first], &shares_[1][first], &shares_[2][first]},
            &followers_[first],
            static_cast<size_t>(num_experts_)},
           scales_, weights_, &scores_[first], &scores_if_used_[first]);
}

void NextUseModel::Learn(const Lesson& lesson) {
  const float* const features[] = {lesson.features[0].data(), lesson.features[1].data(),
                                   lesson.features[2].data(), lesson.features[3].data()};
  const int64_t* const last_step = &last_step_[size_t(lesson.layer) * num_experts_];
  for (int i = 0; i < num_experts_; ++i) {
    const float score = weights_[0] * features[0][i] + weights_[1] * features[1][i] +
                        weights_[2] * features[2][i] + weights_[3] * features[3][i] + weights_[4];
    errors_[i] = (last_step[i] > lesson.step ? 1.0f : 0.0f) - FastSigmoid(score);
  }
  std::array<float, kNumFeatures> sums = {};
  for (int i = 0; i < num_experts_; ++i) {
    for (int k = 0; k <= kNumSpans; ++k) sums[k] += errors_[i] * features[k][i];
    sums[kNumSpans + 1] += errors_[i];
  }
  const float rate = kLearningRate / static_cast<float>(num_experts_);
  for (int k = 0; k < kNumFeatures; ++k) weights_[k] += rate * sums[k];
  for (int k = 0; k <= kNumSpans; ++k) {
    weights_[k] = std::clamp(weights_[k], kLeastWeight, kMostWeight);
  }
}

void NextUseModel::Keep(int layer, Lesson& lesson) const {
  lesson.step = step_;
  lesson.layer = layer;
  const int first = layer * num_experts_;
  for (int span = 0; span < kNumSpans; ++span) {
    float* __restrict const features = lesson.features[span].data();
    const float* const shares = &shares_[span][first];
    const float scale = scales_[span];
    for (int i = 0; i < num_experts_; ++i) {
      features[i] = kLogOf2 * (FastLog2(shares[i] * scale + kLeastShare) - even_share_);
    }
  }
  for (int i = 0; i < num_experts_; ++i) {
    lesson.features[kNumSpans][i] = kLogOf2 * (followers_[first + i] - even_share_);
  }
}

}  // namespace strata
