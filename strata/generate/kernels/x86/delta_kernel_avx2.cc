#include <cstdint>

#include "strata/generate/kernels/delta_memory.h"
#include "strata/generate/kernels/x86/delta_kernels.h"
#include "strata/generate/kernels/x86/target.h"

namespace strata::x86 {
namespace {

constexpr int kLanes = 8;
constexpr int kChains = 4;

struct Sums {
  __m256 of_key[kChains];
  __m256 of_query[kChains];
};

STRATA_AVX2 STRATA_INLINE void AddRow(const DeltaToken& token, const float* columns, int64_t i,
                                      int chain, Sums& sums) {
  const __m256 row = _mm256_loadu_ps(columns + i * DeltaMemory::kBlockColumns);
  sums.of_key[chain] = _mm256_fmadd_ps(_mm256_set1_ps(token.key[i]), row, sums.of_key[chain]);
  sums.of_query[chain] = _mm256_fmadd_ps(_mm256_set1_ps(token.query[i]), row, sums.of_query[chain]);
}

STRATA_AVX2 STRATA_INLINE __m256 Fold(const __m256 (&chains)[kChains]) {
  return _mm256_add_ps(_mm256_add_ps(chains[0], chains[2]), _mm256_add_ps(chains[1], chains[3]));
}

// Eight columns, so that all chains stay in registers.
STRATA_AVX2 STRATA_INLINE void ApplyToColumns(const DeltaToken& token, const float* value,
                                              const float* before, float* after, float* out) {
  Sums sums;
#pragma GCC unroll 4
  for (int chain = 0; chain < kChains; ++chain) {
    sums.of_key[chain] = sums.of_query[chain] = _mm256_setzero_ps();
  }
  int64_t i = 0;
  for (; i + kChains <= token.size; i += kChains) {
#pragma GCC unroll 4
    for (int chain = 0; chain < kChains; ++chain) AddRow(token, before, i + chain, chain, sums);
  }
#pragma GCC unroll 3
  for (int chain = 0; chain < kChains - 1; ++chain) {
    if (i + chain < token.size) AddRow(token, before, i + chain, chain, sums);
  }

  const __m256 decay = _mm256_set1_ps(token.decay);
  const __m256 change =
      _mm256_mul_ps(_mm256_set1_ps(token.beta),
                    _mm256_fnmadd_ps(decay, Fold(sums.of_key), _mm256_loadu_ps(value)));
  const __m256 read = _mm256_mul_ps(decay, Fold(sums.of_query));
  _mm256_storeu_ps(out, _mm256_fmadd_ps(change, _mm256_set1_ps(token.query_dot_key), read));
  for (i = 0; i < token.size; ++i) {
    const int64_t at = i * DeltaMemory::kBlockColumns;
    const __m256 kept = _mm256_mul_ps(decay, _mm256_loadu_ps(before + at));
    _mm256_storeu_ps(after + at, _mm256_fmadd_ps(_mm256_set1_ps(token.key[i]), change, kept));
  }
}

}  // namespace

STRATA_AVX2 void ApplyDeltaRuleAvx2(const DeltaToken& token, const float* before, float* after,
                                    float* out) {
  for (int column = 0; column < DeltaMemory::kBlockColumns; column += kLanes) {
    ApplyToColumns(token, token.value + column, before + column, after + column, out + column);
  }
}

}  // namespace strata::x86
