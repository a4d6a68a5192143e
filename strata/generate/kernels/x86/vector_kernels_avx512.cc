#include <algorithm>
#include <cstdint>

#include "strata/generate/kernels/x86/dot_avx512.h"
#include "strata/generate/kernels/x86/target.h"
#include "strata/generate/kernels/x86/vector_kernels.h"

namespace strata::x86 {
namespace {

STRATA_AVX512 float Sum(const float* x, int64_t n) {
  return avx512::DotOfRow<avx512::Ones>(nullptr, x, n);
}

STRATA_AVX512 STRATA_INLINE __mmask16 First(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : (1 << count) - 1);
}

// Lane i: FoldLanes(rows[i]), for 16 at once: each step halves the lanes of a row and doubles the
// rows of a register.
STRATA_AVX512 STRATA_INLINE __m512 FoldLanesOf16(const __m512 (&rows)[16]) {
  __m512 eights[8], fours[4], twos[2];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    eights[i] = _mm512_add_ps(_mm512_shuffle_f32x4(rows[2 * i], rows[2 * i + 1], 0x44),
                              _mm512_shuffle_f32x4(rows[2 * i], rows[2 * i + 1], 0xee));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    fours[i] = _mm512_add_ps(_mm512_shuffle_f32x4(eights[2 * i], eights[2 * i + 1], 0x88),
                             _mm512_shuffle_f32x4(eights[2 * i], eights[2 * i + 1], 0xdd));
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    twos[i] = _mm512_add_ps(_mm512_shuffle_ps(fours[2 * i], fours[2 * i + 1], 0x44),
                            _mm512_shuffle_ps(fours[2 * i], fours[2 * i + 1], 0xee));
  }
  const __m512 ones = _mm512_add_ps(_mm512_shuffle_ps(twos[0], twos[1], 0x88),
                                    _mm512_shuffle_ps(twos[0], twos[1], 0xdd));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_ps(order, ones);
}

// Rows of kSize numbers, 128 at most: no accumulator is used twice. 16 rows at a time.
template <int kSize>
STRATA_AVX512 void DotShortRows(const float* x, const float* rows, int64_t count, float* results) {
  for (int64_t i = 0; i < count; i += 16) {
    __m512 sums[16];
#pragma GCC unroll 16
    for (int j = 0; j < 16; ++j) {
      // Where rows are missing, the last stands for them.
      const float* const row = rows + std::min(i + j, count - 1) * kSize;
      avx512::Accumulators accumulators;
#pragma GCC unroll 8
      for (int k = 0; k < kSize / 16; ++k) {
        accumulators.Add(k, _mm512_loadu_ps(row + 16 * k), _mm512_loadu_ps(x + 16 * k));
      }
      sums[j] = accumulators.FoldRegisters();
    }
    _mm512_mask_storeu_ps(results + i, First(count - i), FoldLanesOf16(sums));
  }
}

STRATA_AVX512 void DotRows(const float* x, int64_t n, const float* rows, int64_t count,
                           float* results) {
  // Heads are of these sizes.
  if (n == 64) return DotShortRows<64>(x, rows, count, results);
  if (n == 128) return DotShortRows<128>(x, rows, count, results);
  for (int64_t i = 0; i < count; ++i) {
    results[i] =
        avx512::DotOfRow<avx512::F32Row>(reinterpret_cast<const uint8_t*>(rows + i * n), x, n);
  }
}

STRATA_AVX512 void ToFloats(const uint16_t* halves, int64_t n, float* floats) {
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 present = First(n - i);
    const __m256i some = _mm256_maskz_loadu_epi16(present, halves + i);
    _mm512_mask_storeu_ps(floats + i, present, _mm512_cvtph_ps(some));
  }
}

STRATA_AVX512 void ToHalves(const float* floats, int64_t n, uint16_t* halves) {
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 present = First(n - i);
    const __m512 some = _mm512_maskz_loadu_ps(present, floats + i);
    _mm256_mask_storeu_epi16(halves + i, present, _mm512_cvtps_ph(some, _MM_FROUND_TO_NEAREST_INT));
  }
}

}  // namespace

const VectorKernels kVectorKernelsAvx512 = {Sum, DotRows, ToFloats, ToHalves};

}  // namespace strata::x86
