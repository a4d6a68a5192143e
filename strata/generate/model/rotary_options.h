// How the heads of an attention layer turn with the position: numbers from a file, for whoever
// computes the angles (kernels/rotary.h).
#ifndef STRATA_GENERATE_MODEL_ROTARY_OPTIONS_H_
#define STRATA_GENERATE_MODEL_ROTARY_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace strata {

// Which values turn together: 2i and 2i + 1, or i and i + num_dims / 2.
enum class RotaryPairing { kNorm, kNeox };

// YaRN: pairs that turn often within the original context keep their angle, slow ones have it
// scaled, those between are mixed along a ramp. The bounds are in turns per original context.
struct YarnRamp {
  int64_t original_context = 0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
};

// 0.1 * multiplier * ln(factor) + 1, or 1 for a factor of at most 1: what YaRN scales cosines and
// sines by, where `factor` is by how much the context was stretched.
double YarnMagnitude(double factor, double multiplier = 1.0);

struct RotaryOptions {
  int num_dims = 0;  // The first values of a head that turn; even.
  double base = 10000.0;
  double frequency_scale = 1.0;               // 1 / factor of linear scaling and YaRN.
  std::vector<float> frequency_factors = {};  // Empty, or num_dims / 2 divisors of the angles.
  std::optional<YarnRamp> yarn = std::nullopt;
  double magnitude = 1.0;  // Multiplies cosines and sines.
};

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_ROTARY_OPTIONS_H_
