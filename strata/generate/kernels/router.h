// Which experts a token goes to, and with what weights.
//
// The logits are always computed in the F32 order, whatever type the router is stored in and
// however many tokens a step has: one flipped choice changes all that follows. Equal scores go to
// the lower index. Sums over the chosen experts run in the order of their rank.
#ifndef STRATA_GENERATE_KERNELS_ROUTER_H_
#define STRATA_GENERATE_KERNELS_ROUTER_H_

#include <vector>

#include "absl/types/span.h"
#include "strata/generate/kernels/mat_mul.h"

namespace strata {

// From logits to probabilities. Values are those of the key `expert_gating_func`.
enum class Gating {
  kSoftmax = 1,
  kSigmoid = 2,
  kSoftmaxOfChosen = 3,  // Experts are chosen by logit, then a softmax over those alone.
  kSqrtSoftplus = 4,
};

struct RouterOptions {
  Gating gating = Gating::kSoftmax;
  int num_experts = 0;
  int num_chosen = 0;
  bool normalize = false;  // Divides the weights of the chosen by their sum.
  float scale = 0.0f;      // Then multiplies them; 0 and 1 do nothing.
  // With more than one group of neighbouring experts, only the best groups are chosen from. A group
  // is judged by the sum of its two best scores.
  int num_groups = 1;
  int num_groups_used = 1;
  // Empty, or one addend per expert: it serves the choice, not the weights.
  std::vector<float> selection_bias = {};
};

struct ExpertChoice {
  int expert = 0;
  float weight = 0.0f;
};

// logits[e] = row e of the router . x. False when one is NaN or infinite.
[[nodiscard]] bool RouterLogits(const WeightMatrix& router, absl::Span<const float> x,
                                absl::Span<float> logits);

// Working memory of a thread that chooses; kept from token to token.
struct RouterScratch {
  std::vector<float> probabilities, scores;
  std::vector<int> order;
};

// Thread-safe.
class Router {
 public:
  // The options outlive the router and must agree with each other: 0 < num_chosen <= experts of the
  // groups used, and so on.
  explicit Router(const RouterOptions& options);
  explicit Router(RouterOptions&&) = delete;

  // The num_chosen best experts, best first, into `chosen`. `logits` (a router's bias already
  // added) are finite.
  void Choose(absl::Span<const float> logits, RouterScratch& scratch,
              absl::Span<ExpertChoice> chosen) const;

 private:
  void KeepBestGroups(absl::Span<float> scores) const;
  void Weigh(absl::Span<const float> logits, absl::Span<const float> probabilities,
             absl::Span<ExpertChoice> chosen) const;

  const RouterOptions& options_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_ROUTER_H_
