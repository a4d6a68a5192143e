// How a router chooses experts: numbers from a file, for whoever computes the choice
// (kernels/router.h).
#ifndef STRATA_GENERATE_MODEL_ROUTING_OPTIONS_H_
#define STRATA_GENERATE_MODEL_ROUTING_OPTIONS_H_

#include <vector>

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

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_ROUTING_OPTIONS_H_
