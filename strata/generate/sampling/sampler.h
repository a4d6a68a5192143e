// The choice of the next token from its logits.
//
// In this order: logits of tokens in the recent context are made less likely by the repetition
// penalty; the `top_k` best stay; the rest become probabilities at the temperature; of these the
// best that together reach `top_p` stay, and those of at least `min_p` times the best one's
// probability; one is drawn. Everything ranks by logit, equal ones by the lower id, so temperature
// 0 takes the lowest id among the most likely tokens.
//
// The draw is UniformAt(seed, position): see counter_random.h. Exponentials are f32::Exp, so the
// choice does not depend on the instruction set either.
#ifndef STRATA_GENERATE_SAMPLING_SAMPLER_H_
#define STRATA_GENERATE_SAMPLING_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

struct SamplerOptions {
  float temperature = 0.0f;  // 0: the most likely token.
  int top_k = 0;             // 0: all.
  float top_p = 1.0f;
  float min_p = 0.0f;
  // Positive logits are divided by it, others multiplied. 1: none.
  float repetition_penalty = 1.0f;
  int repetition_window = 64;  // Tokens of the context that it looks back on; 0: all.
  uint64_t seed = 0;
};

// Thread-compatible.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options) : options_(options) {}

  // Whether every draw is the lowest id among the most likely tokens.
  bool takes_most_likely() const {
    return options_.temperature == 0.0f && options_.repetition_penalty == 1.0f;
  }

  // The token after `context`, whose length is the position of the draw. Kind "nan_logits" without
  // a file when a logit is NaN or infinite. `logits` is not empty; ids in the context are within
  // it.
  absl::StatusOr<TokenId> Sample(absl::Span<const float> logits, absl::Span<const TokenId> context);

 private:
  struct Candidate {
    float logit;
    TokenId id;
  };
  static bool IsBetter(const Candidate& a, const Candidate& b);

  void PenalizeRepetition(absl::Span<const TokenId> context);
  void KeepTopK();
  TokenId MostLikely() const;
  TokenId Draw(double uniform);
  // The candidate of this rank, 0 the best: as many are put in order as were asked for.
  const Candidate& Ranked(size_t rank);
  // Of being drawn, over that of the best.
  double Weight(const Candidate& candidate) const;
  // Of all candidates, in their order; those that are too improbable for min_p leave.
  double SumWeights();

  const SamplerOptions options_;
  // The last num_ranked_ are in order, the best at the end; those before are a heap.
  std::vector<Candidate> candidates_;
  size_t num_ranked_ = 0;
  float best_logit_ = 0.0f;
  std::vector<float> weights_;  // Of the candidates, as they were before any left.
};

}  // namespace strata

#endif  // STRATA_GENERATE_SAMPLING_SAMPLER_H_
