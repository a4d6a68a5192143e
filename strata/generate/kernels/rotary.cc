#include "strata/generate/kernels/rotary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/run_on_isa.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

// The pair, as a fraction, that makes `turns` turns within the original context.
double PairOfTurns(const RotaryOptions& options, double turns) {
  const double context = static_cast<double>(options.yarn->original_context);
  return options.num_dims * std::log(context / (turns * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(options.base));
}

// How much of a pair's angle is scaled: 0 for the fast pairs, 1 for the slow ones.
double ScaledShare(const RotaryOptions& options, int pair) {
  if (!options.yarn.has_value()) return 1.0;
  const double first = std::max(0.0, std::floor(PairOfTurns(options, options.yarn->beta_fast)));
  const double last =
      std::min(options.num_dims - 1.0, std::ceil(PairOfTurns(options, options.yarn->beta_slow)));
  return std::clamp((pair - first) / std::max(0.001, last - first), 0.0, 1.0);
}

double Frequency(const RotaryOptions& options, int pair) {
  double frequency = std::pow(options.base, -2.0 * pair / options.num_dims);
  if (!options.frequency_factors.empty()) frequency /= options.frequency_factors[pair];
  const double share = ScaledShare(options, pair);
  return frequency * (options.frequency_scale * share + (1.0 - share));
}

// The members of pair i are first[kStep * i] and second[kStep * i]; none is in two pairs.
template <int kStep>
void RotatePairs(absl::Span<const float> cosines, absl::Span<const float> sines,
                 float* __restrict first, float* __restrict second) {
  const size_t num_pairs = cosines.size();
  const float* const cosine = cosines.data();
  const float* const sine = sines.data();
  RunOnCurrentIsa([=]() __attribute__((always_inline)) {
    for (size_t i = 0; i < num_pairs; ++i) {
      const float a = first[kStep * i];
      const float b = second[kStep * i];
      first[kStep * i] = f32::Sub(f32::Mul(a, cosine[i]), f32::Mul(b, sine[i]));
      second[kStep * i] = f32::Add(f32::Mul(a, sine[i]), f32::Mul(b, cosine[i]));
    }
  });
}

}  // namespace

RotaryTable::RotaryTable(const RotaryOptions& options)
    : num_pairs_(options.num_dims / 2), magnitude_(options.magnitude) {
  CHECK(options.num_dims > 0 && options.num_dims % 2 == 0) << options.num_dims;
  CHECK(options.frequency_factors.empty() ||
        options.frequency_factors.size() == static_cast<size_t>(num_pairs_));
  for (int pair = 0; pair < num_pairs_; ++pair) frequencies_.push_back(Frequency(options, pair));
}

int64_t RotaryTable::num_positions() const {
  return static_cast<int64_t>(values_.size()) / (2 * num_pairs_);
}

void RotaryTable::ExtendTo(int64_t num_positions) {
  const int64_t old_positions = this->num_positions();
  if (num_positions <= old_positions) return;
  values_.resize(num_positions * 2 * num_pairs_);
  for (int64_t position = old_positions; position < num_positions; ++position) {
    float* cosines = &values_[position * 2 * num_pairs_];
    for (int pair = 0; pair < num_pairs_; ++pair) {
      const double angle = static_cast<double>(position) * frequencies_[pair];
      cosines[pair] = static_cast<float>(std::cos(angle) * magnitude_);
      cosines[num_pairs_ + pair] = static_cast<float>(std::sin(angle) * magnitude_);
    }
  }
}

absl::Span<const float> RotaryTable::Cosines(int64_t position) const {
  CHECK(0 <= position && position < num_positions()) << position;
  return absl::MakeConstSpan(&values_[position * 2 * num_pairs_], num_pairs_);
}

absl::Span<const float> RotaryTable::Sines(int64_t position) const {
  CHECK(0 <= position && position < num_positions()) << position;
  return absl::MakeConstSpan(&values_[position * 2 * num_pairs_ + num_pairs_], num_pairs_);
}

void Rotate(RotaryPairing pairing, absl::Span<const float> cosines, absl::Span<const float> sines,
            float* head) {
  const size_t num_pairs = cosines.size();
  CHECK_EQ(sines.size(), num_pairs);
  if (pairing == RotaryPairing::kNorm) {
    RotatePairs<2>(cosines, sines, head, head + 1);
  } else {
    RotatePairs<1>(cosines, sines, head, head + num_pairs);
  }
}

}  // namespace strata
