// Rotary position embedding: pairs of a head's values turn by an angle that grows with the
// position.
//
// Angles, cosines and sines are computed on the host in f64 and rounded to f32 once; every device
// uses the same table.
#ifndef STRATA_GENERATE_KERNELS_ROTARY_H_
#define STRATA_GENERATE_KERNELS_ROTARY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/model/rotary_options.h"

namespace strata {

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
