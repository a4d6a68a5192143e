// 256 quantized weights in AVX2 registers, as the dot products of all such types want them: what
// codes_avx512.h says, with signs as a vector, not as bits.
#ifndef STRATA_GENERATE_KERNELS_X86_CODES_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_CODES_AVX2_H_

#include <cstdint>

#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/target.h"

namespace strata::x86::avx2 {

// codes[k] and signs[k] are those of weights 32k .. 32k + 31.
struct Codes256 {
  __m256i codes[8];
  __m256i signs[8];  // Bytes; negative where the weight is. Where the type has signs.
  __m256i factors;   // int16: one per 16 weights, or one per 32 weights twice (see kFactorWeights).
  __m256i mins;      // int16, one per 16 weights, where the type has them.
};

STRATA_AVX2 STRATA_INLINE __m256i LowNibbles(__m256i bytes) {
  return _mm256_and_si256(bytes, _mm256_set1_epi8(15));
}
STRATA_AVX2 STRATA_INLINE __m256i HighNibbles(__m256i bytes) {
  return LowNibbles(_mm256_srli_epi16(bytes, 4));
}

// 16 bytes as 32 codes of 4 bits: the low nibbles, then the high ones.
STRATA_AVX2 STRATA_INLINE __m256i NibblesOfRun(const uint8_t* run) {
  const __m128i bytes = Load128(run);
  return LowNibbles(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes));
}

// -1 in each byte whose bit is set, else 0.
STRATA_AVX2 STRATA_INLINE __m256i MaskOfBits(uint32_t bits) {
  const __m256i byte_of_bit =
      _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), byte_of_bit);
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
}

// -1 in each byte whose bit is set, else 1.
STRATA_AVX2 STRATA_INLINE __m256i SignsOfBits(uint32_t bits) {
  return _mm256_or_si256(MaskOfBits(bits), _mm256_set1_epi8(1));
}

// The factors of weights 32k .. 32k + 31, one per pair of weights.
template <int kFactorWeights>
STRATA_AVX2 STRATA_INLINE __m256i PairFactors(__m256i factors, int k) {
  if (kFactorWeights == 32) {
    return _mm256_shuffle_epi8(factors, _mm256_set1_epi16(static_cast<int16_t>(0x100 + 0x202 * k)));
  }
  const __m256i half = k < 4 ? _mm256_permute2x128_si256(factors, factors, 0x00)
                             : _mm256_permute2x128_si256(factors, factors, 0x11);
  const __m256i first = _mm256_set_m128i(_mm_set1_epi16(0x302), _mm_set1_epi16(0x100));
  const __m256i step = _mm256_set1_epi16(static_cast<int16_t>(0x404 * (k % 4)));
  return _mm256_shuffle_epi8(half, _mm256_add_epi16(first, step));
}

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_CODES_AVX2_H_
