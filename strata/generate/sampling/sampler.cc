#include "strata/generate/sampling/sampler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"
#include "strata/generate/sampling/counter_random.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

bool Sampler::IsBetter(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

absl::StatusOr<TokenId> Sampler::Sample(absl::Span<const float> logits,
                                        absl::Span<const TokenId> context) {
  CHECK(!logits.empty());
  if (!AreFinite(logits)) return NotFiniteError("the logits");
  if (options_.temperature <= 0.0f && options_.repetition_penalty == 1.0f) {
    return static_cast<TokenId>(ArgMax(logits));
  }
  candidates_.clear();
  for (size_t id = 0; id < logits.size(); ++id) {
    candidates_.push_back({.logit = logits[id], .id = static_cast<TokenId>(id)});
  }
  PenalizeRepetition(context);
  if (options_.temperature <= 0.0f) return MostLikely();
  KeepTopK();
  return Draw(UniformAt(options_.seed, static_cast<int64_t>(context.size())));
}

void Sampler::PenalizeRepetition(absl::Span<const TokenId> context) {
  if (options_.repetition_penalty == 1.0f) return;
  const size_t window = static_cast<size_t>(options_.repetition_window);
  if (window > 0 && context.size() > window) context.remove_prefix(context.size() - window);
  for (const TokenId id : absl::flat_hash_set<TokenId>(context.begin(), context.end())) {
    float& logit = candidates_[id].logit;
    logit =
        logit > 0.0f ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
  }
}

TokenId Sampler::MostLikely() const {
  return std::min_element(candidates_.begin(), candidates_.end(), IsBetter)->id;
}

void Sampler::KeepTopK() {
  const size_t top_k = static_cast<size_t>(options_.top_k);
  if (top_k == 0 || top_k >= candidates_.size()) return;
  std::nth_element(candidates_.begin(), candidates_.begin() + top_k, candidates_.end(), IsBetter);
  candidates_.resize(top_k);
}

// A vocabulary has 10^5 tokens, and a handful of them usually hold top_p: a heap gives the best
// ones without ordering the rest.
const Sampler::Candidate& Sampler::Ranked(size_t rank) {
  const auto is_worse = [](const Candidate& a, const Candidate& b) { return IsBetter(b, a); };
  if (num_ranked_ == 0) std::make_heap(candidates_.begin(), candidates_.end(), is_worse);
  for (; num_ranked_ <= rank; ++num_ranked_) {
    std::pop_heap(candidates_.begin(), candidates_.end() - num_ranked_, is_worse);
  }
  return candidates_[candidates_.size() - 1 - rank];
}

double Sampler::Weight(const Candidate& candidate) const {
  return f32::Exp((candidate.logit - best_logit_) / options_.temperature);
}

double Sampler::SumWeights() {
  weights_.resize(candidates_.size());
  for (size_t i = 0; i < candidates_.size(); ++i) {
    weights_[i] = (candidates_[i].logit - best_logit_) / options_.temperature;
  }
  ExpOfDifference(0.0f, absl::MakeSpan(weights_));
  double sum = 0.0;
  size_t num_left = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    sum += weights_[i];
    candidates_[num_left] = candidates_[i];
    num_left += weights_[i] >= options_.min_p ? 1 : 0;
  }
  candidates_.resize(num_left);
  return sum;
}

TokenId Sampler::Draw(double uniform) {
  num_ranked_ = 0;
  best_logit_ = std::min_element(candidates_.begin(), candidates_.end(), IsBetter)->logit;
  double kept = SumWeights();
  size_t num_kept = candidates_.size();
  if (options_.top_p < 1.0f || options_.min_p > 0.0f) {
    const double enough = options_.top_p * kept;
    kept = 0.0;
    num_kept = 0;
    while (num_kept < candidates_.size() && (num_kept == 0 || kept < enough)) {
      kept += Weight(Ranked(num_kept));
      ++num_kept;
    }
  }
  double left = uniform * kept;
  size_t rank = 0;
  while (rank + 1 < num_kept && left >= Weight(Ranked(rank))) left -= Weight(Ranked(rank++));
  return Ranked(rank).id;
}

}  // namespace strata
