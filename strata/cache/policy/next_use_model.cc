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
constexpr float kLogDecays[] = {-0.32192809f, -0.04394335f, -0.00723157f};  // To base 2.
// Shares below it are the same as none,
constexpr float kLeastShare = 1e-3f;
constexpr float kLogLeastShare = -9.9657843f;
// and this is of shares that nothing remembers.
constexpr float kLogNothing = -60;
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

}  // namespace

NextUseModel::NextUseModel(const ExpertGeometry& geometry, absl::Span<const float> uses_per_step)
    : num_experts_(geometry.num_experts()),
      num_layers_(static_cast<int>(geometry.layers().size())),
      num_used_(geometry.num_used()),
      even_share_(FastLog2(ShareIfEven(geometry))),
      num_followed_(geometry.size(), 0),
      followers_(geometry.size(), 0),
      last_step_(geometry.size(), -1),
      weights_{kFirstSpans[0], kFirstSpans[1], kFirstSpans[2], kFirstPairs,
               FirstConstant(ShareIfEven(geometry))},
      scores_(geometry.size(), 0) {
  for (std::vector<float>& shares : shares_) {
    shares.resize(geometry.size(), kLogNothing);
    for (size_t number = 0; number < uses_per_step.size(); ++number) {
      shares[number] = FastLog2(std::max(uses_per_step[number], 1e-12f));
    }
  }
  const int64_t num_pairs = int64_t{geometry.size()} * num_experts_;
  if (num_pairs <= kMostPairs) pairs_.assign(num_pairs, 0);
  last_used_.reserve(geometry.size());
  for (Lesson& lesson : lessons_) lesson.features.resize(num_experts_);
  Score();
}

void NextUseModel::AddStep(absl::Span<const ExpertUse> uses) {
  CountUses(uses);
  // The experts of many tokens together follow nothing in particular.
  const bool is_decode = static_cast<int>(uses.size()) <= 2 * num_used_ * num_layers_;
  if (!pairs_.empty()) {
    if (is_decode) CountPairs(uses);
    last_used_.clear();
    for (const ExpertUse& use : uses) {
      if (is_decode && use.accepted > 0) last_used_.push_back(use.number);
    }
    PredictFromPairs(uses);
  }
  Score();
  Learn();
  ++step_;
}

void NextUseModel::CountUses(absl::Span<const ExpertUse> uses) {
  for (int span = 0; span < kNumSpans; ++span) {
    float* const shares = shares_[span].data();
    const float sinks = kLogDecays[span];
    for (size_t i = 0; i < shares_[span].size(); ++i) {
      shares[i] = std::max(shares[i] + sinks, kLogNothing);
    }
    const float of_use = 1 - kDecays[span];
    for (const ExpertUse& use : uses) {
      if (use.accepted == 0) continue;
      float& share = shares[use.number];
      share = FastLog2(FastExp2(share) + of_use * static_cast<float>(use.accepted));
    }
  }
  for (const ExpertUse& use : uses) {
    if (use.accepted > 0) last_step_[use.number] = step_;
  }
}

void NextUseModel::CountPairs(absl::Span<const ExpertUse> uses) {
  // Both lists ascend, so the uses of a layer are one run.
  size_t begin = 0;
  for (const int before : last_used_) {
    const int first = before / num_experts_ * num_experts_;
    while (begin < uses.size() && uses[begin].number < first) ++begin;
    const absl::Span<uint16_t> row =
        absl::MakeSpan(pairs_).subspan(size_t(before) * num_experts_, num_experts_);
    for (size_t i = begin; i < uses.size() && uses[i].number < first + num_experts_; ++i) {
      if (uses[i].accepted > 0) ++row[uses[i].number - first];
    }
    if (++num_followed_[before] < kMostFollowed) continue;
    num_followed_[before] /= 2;
    for (uint16_t& count : row) count /= 2;
  }
}

void NextUseModel::PredictFromPairs(absl::Span<const ExpertUse> uses) {
  std::fill(followers_.begin(), followers_.end(), 0.0f);
  for (const int before : last_used_) {
    const size_t first = size_t(before / num_experts_) * num_experts_;
    const uint16_t* const row = &pairs_[size_t(before) * num_experts_];
    float* __restrict const followers = &followers_[first];
    const float scale = 1 / static_cast<float>((num_followed_[before] + 1) * num_used_);
    for (int i = 0; i < num_experts_; ++i) followers[i] += scale * static_cast<float>(row[i]);
  }
  if (!last_used_.empty() || uses.empty()) return;
  // Nothing in particular: what is used lately.
  for (size_t i = 0; i < followers_.size(); ++i) followers_[i] = FastExp2(shares_[1][i]);
}

float NextUseModel::Feature(float log_share) const {
  return kLogOf2 * (std::max(log_share, kLogLeastShare) - even_share_);
}

// Without what is the same for all experts.
void NextUseModel::Score() {
  static_assert(kNumSpans == 3);
  const size_t size = scores_.size();
  const float* const short_span = shares_[0].data();
  const float* const middle_span = shares_[1].data();
  const float* const long_span = shares_[2].data();
  const float* const followers = followers_.data();
  const std::array<float, kNumFeatures> weights = weights_;
  float* __restrict const scores = scores_.data();
  for (size_t i = 0; i < size; ++i) {
    scores[i] = weights[0] * std::max(short_span[i], kLogLeastShare) +
                weights[1] * std::max(middle_span[i], kLogLeastShare) +
                weights[2] * std::max(long_span[i], kLogLeastShare) +
                weights[3] * FastLog2(std::max(followers[i], kLeastShare));
  }
}

float NextUseModel::ScoreIfUsed(int number) const {
  float score = weights_[kNumSpans] * FastLog2(std::max(followers_[number], kLeastShare));
  for (int span = 0; span < kNumSpans; ++span) {
    const float share = FastExp2(shares_[span][number] + kLogDecays[span]) + (1 - kDecays[span]);
    score += weights_[span] * FastLog2(share);
  }
  return score;
}

// From the lesson of kHorizon steps ago, whose place the one of today takes.
void NextUseModel::Learn() {
  Lesson& lesson = lessons_[step_ % kHorizon];
  const float rate = kLearningRate / static_cast<float>(num_experts_);
  for (int i = 0; lesson.step >= 0 && i < num_experts_; ++i) {
    const std::array<float, kNumFeatures>& features = lesson.features[i];
    float score = 0;
    for (int k = 0; k < kNumFeatures; ++k) score += weights_[k] * features[k];
    const bool was_used = last_step_[lesson.layer * num_experts_ + i] > lesson.step;
    const float error = (was_used ? 1.0f : 0.0f) - FastSigmoid(score);
    for (int k = 0; k < kNumFeatures; ++k) weights_[k] += rate * error * features[k];
    for (int k = 0; k <= kNumSpans; ++k) {
      weights_[k] = std::clamp(weights_[k], kLeastWeight, kMostWeight);
    }
  }
  Keep(lesson);
}

void NextUseModel::Keep(Lesson& lesson) const {
  lesson.step = step_;
  lesson.layer = static_cast<int>(step_ % num_layers_);
  for (int i = 0; i < num_experts_; ++i) {
    const size_t number = size_t(lesson.layer) * num_experts_ + i;
    for (int span = 0; span < kNumSpans; ++span) {
      lesson.features[i][span] = Feature(shares_[span][number]);
    }
    lesson.features[i][kNumSpans] = Feature(FastLog2(std::max(followers_[number], kLeastShare)));
    lesson.features[i][kNumSpans + 1] = 1;
  }
}

}  // namespace strata
