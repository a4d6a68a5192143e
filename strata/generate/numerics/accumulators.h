// Sums and dot products of f32 values in the one order that is the same everywhere: 128
// accumulators from +0, element i goes to accumulator i mod 128 in ascending i, then the upper half
// is added to the lower half until one is left.
//
// For host and device; one thread does it all here. A vector or a block of threads keeps the same
// accumulators in its lanes.
#ifndef STRATA_GENERATE_NUMERICS_ACCUMULATORS_H_
#define STRATA_GENERATE_NUMERICS_ACCUMULATORS_H_

#include <cstdint>

#include "strata/generate/numerics/numerics.h"

namespace strata::f32 {

inline constexpr int kNumAccumulators = 128;

// Leaves the sum in accumulators[0], which it returns; the others are used up.
STRATA_NUMERIC float FoldAccumulators(float* accumulators) {
  for (int half = kNumAccumulators / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) {
      accumulators[j] = Add(accumulators[j], accumulators[j + half]);
    }
  }
  return accumulators[0];
}

// fma(w(i), x(i), accumulator) for i in [0, n), folded. `w` and `x` give element i as f32.
template <typename W, typename X>
STRATA_NUMERIC float DotOf(int64_t n, W w, X x) {
  float accumulators[kNumAccumulators] = {};
  for (int64_t begin = 0; begin < n; begin += kNumAccumulators) {
    const int64_t left = n - begin;
    const int count = left < kNumAccumulators ? static_cast<int>(left) : kNumAccumulators;
    for (int j = 0; j < count; ++j) {
      accumulators[j] = Fma(w(begin + j), x(begin + j), accumulators[j]);
    }
  }
  return FoldAccumulators(accumulators);
}

STRATA_NUMERIC float Dot(const float* w, const float* x, int64_t n) {
  return DotOf(
      n, [=](int64_t i) { return w[i]; }, [=](int64_t i) { return x[i]; });
}

STRATA_NUMERIC float SumOfSquares(const float* x, int64_t n) { return Dot(x, x, n); }

// 1 * x + c rounds as x + c does.
STRATA_NUMERIC float Sum(const float* x, int64_t n) {
  return DotOf(
      n, [](int64_t) { return 1.0f; }, [=](int64_t i) { return x[i]; });
}

}  // namespace strata::f32

#endif  // STRATA_GENERATE_NUMERICS_ACCUMULATORS_H_
