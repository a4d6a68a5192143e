// Rotary position embedding: pairs of a head's values turn by an angle that grows with the
// position.
//
// Angles, cosines and sines are computed on the host in f64 and rounded to f32 once; every device
// uses the same table.
#ifndef STRATA_GENERATE_KERNELS_ROTARY_H_
#define STRATA_GENERATE_KERNELS_ROTARY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

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

// Grows with the positions in use. Thread-compatible.
class RotaryTable {
 public:
  explicit RotaryTable(const RotaryOptions& options);

  // Makes positions [0, num_positions) available. Spans handed out before are no longer valid.
  void ExtendTo(int64_t num_positions);
  int64_t num_positions() const;

  // num_dims / 2 values each.
  absl::Span<const float> Cosines(int64_t position) const;
  absl::Span<const float> Sines(int64_t position) const;

 private:
  const int num_pairs_;
  const double magnitude_;
  std::vector<double> frequencies_;  // Radians per position of each pair.
  std::vector<float> values_;        // Of each position the cosines, then the sines.
};

// Turns the first 2 * cosines.size() values at `head`.
void Rotate(RotaryPairing pairing, absl::Span<const float> cosines, absl::Span<const float> sines,
            float* head);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_ROTARY_H_
