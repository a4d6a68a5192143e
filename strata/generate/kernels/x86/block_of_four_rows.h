// The floats of one block of 256 of four rows: a lane is a row. Four rows fill 128 bits, so both
// instruction sets share this.
#ifndef STRATA_GENERATE_KERNELS_X86_BLOCK_OF_FOUR_ROWS_H_
#define STRATA_GENERATE_KERNELS_X86_BLOCK_OF_FOUR_ROWS_H_

#include <cstdint>

#include "strata/generate/kernels/x86/target.h"

namespace strata::x86 {

// Lane i: the sum of the lanes of rows[i].
STRATA_AVX2 STRATA_INLINE __m128i SumLanes(const __m256i (&rows)[4]) {
  const __m256i first = _mm256_add_epi32(_mm256_unpacklo_epi32(rows[0], rows[1]),
                                         _mm256_unpackhi_epi32(rows[0], rows[1]));
  const __m256i second = _mm256_add_epi32(_mm256_unpacklo_epi32(rows[2], rows[3]),
                                          _mm256_unpackhi_epi32(rows[2], rows[3]));
  const __m256i sums =
      _mm256_add_epi32(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
  return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

struct ScalesOfFourRows {
  __m128 scales;
  __m128 min_scales;
};

// From the ScaleBits of the rows.
template <typename Format>
STRATA_AVX2 STRATA_INLINE ScalesOfFourRows ToScales(const uint32_t (&bits)[4]) {
  const __m256 halves =
      _mm256_cvtph_ps(_mm_set_epi32(static_cast<int>(bits[3]), static_cast<int>(bits[2]),
                                    static_cast<int>(bits[1]), static_cast<int>(bits[0])));
  const __m128 low = _mm256_castps256_ps128(halves);
  const __m128 high = _mm256_extractf128_ps(halves, 1);
  return {_mm_mul_ps(_mm_shuffle_ps(low, high, 0x88), _mm_set1_ps(Format::kStep)),
          _mm_xor_ps(_mm_shuffle_ps(low, high, 0xdd), _mm_set1_ps(-0.0f))};
}

// sum + the group that the block is, from its integers I and, where the type has them, M.
template <typename Format>
STRATA_AVX2 STRATA_INLINE __m128 AddBlock(const ScalesOfFourRows& scales, float da,
                                          __m128i integers, const __m256i (&mins)[4], __m128 sum) {
  const __m128 das = _mm_set1_ps(da);
  __m128 group =
      _mm_fmadd_ps(_mm_mul_ps(scales.scales, das), _mm_cvtepi32_ps(integers), _mm_setzero_ps());
  if (Format::kHasMins) {
    group =
        _mm_fmadd_ps(_mm_mul_ps(scales.min_scales, das), _mm_cvtepi32_ps(SumLanes(mins)), group);
  }
  return _mm_add_ps(sum, group);
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_BLOCK_OF_FOUR_ROWS_H_
