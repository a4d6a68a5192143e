// The 128 accumulators of accumulators.h in eight AVX-512 registers.
#ifndef STRATA_GENERATE_KERNELS_X86_DOT_AVX512_H_
#define STRATA_GENERATE_KERNELS_X86_DOT_AVX512_H_

#include <cstdint>

#include "strata/generate/kernels/x86/target.h"

namespace strata::x86::avx512 {

// How 16 numbers of a row are read as f32; `present` says which exist, the others are not touched.
struct F32Row {
  static constexpr int kBytes = 4;
  STRATA_AVX512 static STRATA_INLINE __m512 Load(const uint8_t* at) { return _mm512_loadu_ps(at); }
  STRATA_AVX512 static STRATA_INLINE __m512 LoadSome(const uint8_t* at, __mmask16 present) {
    return _mm512_maskz_loadu_ps(present, at);
  }
};

struct F16Row {
  static constexpr int kBytes = 2;
  STRATA_AVX512 static STRATA_INLINE __m512 Load(const uint8_t* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  STRATA_AVX512 static STRATA_INLINE __m512 LoadSome(const uint8_t* at, __mmask16 present) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(present, at));
  }
};

struct BF16Row {
  static constexpr int kBytes = 2;
  STRATA_AVX512 static STRATA_INLINE __m512 Widen(__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  STRATA_AVX512 static STRATA_INLINE __m512 Load(const uint8_t* at) {
    return Widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  STRATA_AVX512 static STRATA_INLINE __m512 LoadSome(const uint8_t* at, __mmask16 present) {
    return Widen(_mm256_maskz_loadu_epi16(present, at));
  }
};

// Nothing is read: a dot product with ones is a sum.
struct Ones {
  static constexpr int kBytes = 0;
  STRATA_AVX512 static STRATA_INLINE __m512 Load(const uint8_t* /*at*/) {
    return _mm512_set1_ps(1.0f);
  }
  STRATA_AVX512 static STRATA_INLINE __m512 LoadSome(const uint8_t* at, __mmask16 /*present*/) {
    return Load(at);
  }
};

class Accumulators {
 public:
  STRATA_AVX512 STRATA_INLINE Accumulators() {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) lanes_[k] = _mm512_setzero_ps();
  }

  // Elements 16k .. 16k + 15 of a run of 128.
  STRATA_AVX512 STRATA_INLINE void Add(int k, __m512 w, __m512 x) {
    lanes_[k] = _mm512_fmadd_ps(w, x, lanes_[k]);
  }
  STRATA_AVX512 STRATA_INLINE void AddSome(int k, __m512 w, __m512 x, __mmask16 present) {
    lanes_[k] = _mm512_mask3_fmadd_ps(w, x, lanes_[k], present);
  }

  // 16 partial sums; what is left of the folding is FoldLanes.
  STRATA_AVX512 STRATA_INLINE __m512 FoldRegisters() const {
    const __m512 a = _mm512_add_ps(lanes_[0], lanes_[4]);
    const __m512 b = _mm512_add_ps(lanes_[1], lanes_[5]);
    const __m512 c = _mm512_add_ps(lanes_[2], lanes_[6]);
    const __m512 d = _mm512_add_ps(lanes_[3], lanes_[7]);
    return _mm512_add_ps(_mm512_add_ps(a, c), _mm512_add_ps(b, d));
  }

 private:
  __m512 lanes_[8];
};

STRATA_AVX512 STRATA_INLINE float FoldLanes(__m512 sums) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(sums), _mm512_extractf32x8_ps(sums, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// sums[v]: the 16 partial sums of the row with xs[v], all of n numbers.
template <typename Row, int kVectors>
STRATA_AVX512 STRATA_INLINE void AccumulateRow(const uint8_t* row, const float* const* xs,
                                               int64_t n, __m512 (&sums)[kVectors]) {
  Accumulators accumulators[kVectors];
  int64_t begin = 0;
  for (; begin + 128 <= n; begin += 128) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const int64_t at = begin + 16 * k;
      const __m512 w = Row::Load(row + at * Row::kBytes);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) accumulators[v].Add(k, w, _mm512_loadu_ps(xs[v] + at));
    }
  }
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    const int64_t at = begin + 16 * k;
    if (at >= n) continue;
    const auto present = static_cast<__mmask16>(n - at >= 16 ? 0xffff : (1 << (n - at)) - 1);
    const __m512 w = Row::LoadSome(row + at * Row::kBytes, present);
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      accumulators[v].AddSome(k, w, _mm512_maskz_loadu_ps(present, xs[v] + at), present);
    }
  }
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) sums[v] = accumulators[v].FoldRegisters();
}

template <typename Row>
STRATA_AVX512 STRATA_INLINE float DotOfRow(const uint8_t* row, const float* x, int64_t n) {
  __m512 sums[1];
  AccumulateRow<Row, 1>(row, &x, n, sums);
  return FoldLanes(sums[0]);
}

}  // namespace strata::x86::avx512

#endif  // STRATA_GENERATE_KERNELS_X86_DOT_AVX512_H_
