// The 128 accumulators of accumulators.h in AVX2 registers: the AVX2 side of dot_avx512.h. Sixteen
// registers would be all there are, so the lower and the upper 64 accumulators take turns.
#ifndef STRATA_GENERATE_KERNELS_X86_DOT_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_DOT_AVX2_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "strata/generate/kernels/x86/target.h"

namespace strata::x86::avx2 {

// How 8 numbers of a row are read as f32.
struct F32Row {
  static constexpr int kBytes = 4;
  STRATA_AVX2 static STRATA_INLINE __m256 Load(const uint8_t* at) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
  }
};

struct F16Row {
  static constexpr int kBytes = 2;
  STRATA_AVX2 static STRATA_INLINE __m256 Load(const uint8_t* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
};

struct BF16Row {
  static constexpr int kBytes = 2;
  STRATA_AVX2 static STRATA_INLINE __m256 Load(const uint8_t* at) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
};

// Nothing is read: a dot product with ones is a sum.
struct Ones {
  static constexpr int kBytes = 0;
  STRATA_AVX2 static STRATA_INLINE __m256 Load(const uint8_t* /*at*/) {
    return _mm256_set1_ps(1.0f);
  }
};

// sum, with the first `count` lanes (at most 8) moved on by w * x.
template <typename Row>
STRATA_AVX2 STRATA_INLINE __m256 AddSome(const uint8_t* w, const float* x, int count, __m256 sum) {
  if (count >= 8) return _mm256_fmadd_ps(Row::Load(w), _mm256_loadu_ps(x), sum);
  alignas(32) uint8_t some_w[32] = {};
  alignas(32) float some_x[8] = {};
  if constexpr (Row::kBytes > 0) {  // Ones have no bytes, and no address either.
    std::memcpy(some_w, w, static_cast<size_t>(count) * Row::kBytes);
  }
  std::copy_n(x, count, some_x);
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i present = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lanes);
  const __m256 moved = _mm256_fmadd_ps(Row::Load(some_w), _mm256_load_ps(some_x), sum);
  return _mm256_blendv_ps(sum, moved, _mm256_castsi256_ps(present));
}

// Half of the accumulators: those of elements i with i mod 128 in [first, first + 64).
template <typename Row>
STRATA_AVX2 STRATA_INLINE void AccumulateHalf(const uint8_t* row, const float* x, int64_t n,
                                              int first, __m256 (&sums)[8]) {
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) sums[k] = _mm256_setzero_ps();
  int64_t begin = first;
  for (; begin + 64 <= n; begin += 128) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const int64_t at = begin + 8 * k;
      sums[k] =
          _mm256_fmadd_ps(Row::Load(row + at * Row::kBytes), _mm256_loadu_ps(x + at), sums[k]);
    }
  }
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    const int64_t at = begin + 8 * k;
    if (at >= n) continue;
    const int count = static_cast<int>(std::min<int64_t>(8, n - at));
    sums[k] = AddSome<Row>(row + at * Row::kBytes, x + at, count, sums[k]);
  }
}

template <typename Row>
STRATA_AVX2 STRATA_INLINE float DotOfRow(const uint8_t* row, const float* x, int64_t n) {
  __m256 low[8];
  __m256 high[8];
  AccumulateHalf<Row>(row, x, n, 0, low);
  AccumulateHalf<Row>(row, x, n, 64, high);
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) low[k] = _mm256_add_ps(low[k], high[k]);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) low[k] = _mm256_add_ps(low[k], low[k + 4]);
  const __m256 eight = _mm256_add_ps(_mm256_add_ps(low[0], low[2]), _mm256_add_ps(low[1], low[3]));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_DOT_AVX2_H_
