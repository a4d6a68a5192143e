// The activation between the two halves of a feed-forward part.
#ifndef STRATA_GENERATE_MODEL_GATED_ACTIVATION_H_
#define STRATA_GENERATE_MODEL_GATED_ACTIVATION_H_

namespace strata {

enum class GatedActivation {
  // silu(gate) * up
  kSilu,
  // sigmoid(gate) * up
  kSigmoid,
  // gelu(gate) * up, where gelu has the form with tanh
  kGelu,
  // gpt-oss: g = min(gate, 7), u = up within [-7, 7]; (g * sigmoid(1.702 g)) * (u + 1)
  kClampedSwiglu,
};

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_GATED_ACTIVATION_H_
