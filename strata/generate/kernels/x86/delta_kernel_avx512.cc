#include <cstdint>

#include "strata/generate/kernels/delta_memory.h"
#include "strata/generate/kernels/x86/delta_kernels.h"
#include "strata/generate/kernels/x86/target.h"

namespace strata::x86 {
namespace {

constexpr int kLanes = 16;
constexpr int kVectors = DeltaMemory::kBlockColumns / kLanes;
constexpr int kChains = 4;

struct Sums {
  __m512 of_key[kChains][kVectors];
  __m512 of_query[kChains][kVectors];
};

STRATA_AVX512 STRATA_INLINE void AddRow(const DeltaToken& token, const float* block, int64_t i,
                                        int chain, Sums& sums) {
  const __m512 key = _mm512_set1_ps(token.key[i]);
  const __m512 query = _mm512_set1_ps(token.query[i]);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const __m512 row = _mm512_loadu_ps(block + i * DeltaMemory::kBlockColumns + v * kLanes);
    sums.of_key[chain][v] = _mm512_fmadd_ps(key, row, sums.of_key[chain][v]);
    sums.of_query[chain][v] = _mm512_fmadd_ps(query, row, sums.of_query[chain][v]);
  }
}

STRATA_AVX512 STRATA_INLINE __m512 Fold(const __m512 (&chains)[kChains][kVectors], int v) {
  return _mm512_add_ps(_mm512_add_ps(chains[0][v], chains[2][v]),
                       _mm512_add_ps(chains[1][v], chains[3][v]));
}

}  // namespace

STRATA_AVX512 void ApplyDeltaRuleAvx512(const DeltaToken& token, const float* before, float* after,
                                        float* out) {
  Sums sums;
#pragma GCC unroll 4
  for (int chain = 0; chain < kChains; ++chain) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      sums.of_key[chain][v] = sums.of_query[chain][v] = _mm512_setzero_ps();
    }
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

  const __m512 decay = _mm512_set1_ps(token.decay);
  const __m512 beta = _mm512_set1_ps(token.beta);
  const __m512 query_dot_key = _mm512_set1_ps(token.query_dot_key);
  __m512 change[kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const __m512 value = _mm512_loadu_ps(token.value + v * kLanes);
    change[v] = _mm512_mul_ps(beta, _mm512_fnmadd_ps(decay, Fold(sums.of_key, v), value));
    const __m512 read = _mm512_mul_ps(decay, Fold(sums.of_query, v));
    _mm512_storeu_ps(out + v * kLanes, _mm512_fmadd_ps(change[v], query_dot_key, read));
  }
  for (i = 0; i < token.size; ++i) {
    const __m512 key = _mm512_set1_ps(token.key[i]);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = i * DeltaMemory::kBlockColumns + v * kLanes;
      const __m512 kept = _mm512_mul_ps(decay, _mm512_loadu_ps(before + at));
      _mm512_storeu_ps(after + at, _mm512_fmadd_ps(key, change[v], kept));
    }
  }
}

}  // namespace strata::x86
