// 256 quantized weights in AVX-512 registers, as the dot products of all such types want them.
//
// A weight is a code from 0 to 127, less an offset of its type or negated by a sign bit: products
// of codes with activations (magnitude at most 127) then fit pairwise into 16 bits, and a pair's
// sum times the factor of its 16 weights is added up in 32 bits by one instruction.
#ifndef STRATA_GENERATE_KERNELS_X86_CODES_AVX512_H_
#define STRATA_GENERATE_KERNELS_X86_CODES_AVX512_H_

#include <cstdint>

#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/target.h"

namespace strata::x86::avx512 {

// codes[k] and what goes with it are those of weights 64k .. 64k + 63.
struct Codes256 {
  __m512i codes[4];
  __mmask64 negative[4];    // Where the type has signs.
  __m512i pair_factors[4];  // int16, one per pair of weights.
  __m256i factors;          // int16, one per 16 weights.
  __m256i mins;             // int16, one per 16 weights, where the type has them.
};

STRATA_AVX512 STRATA_INLINE __m512i Load512(const void* bytes) { return _mm512_loadu_si512(bytes); }

// 32 bytes, twice.
STRATA_AVX512 STRATA_INLINE __m512i Load256Twice(const void* bytes) {
  return _mm512_broadcast_i64x4(Load256(bytes));
}

// Two runs of 16 bytes, each as 32 codes of 4 bits: the low nibbles, then the high ones.
STRATA_AVX512 STRATA_INLINE __m512i NibblesOfTwoRuns(const uint8_t* first, const uint8_t* second) {
  const __m256i low = _mm256_broadcastsi128_si256(Load128(first));
  const __m256i high = _mm256_broadcastsi128_si256(Load128(second));
  const __m512i bytes = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  const __m512i shifted = _mm512_mask_srli_epi64(bytes, 0xcc, bytes, 4);
  return _mm512_and_si512(shifted, _mm512_set1_epi8(15));
}

// A byte of each of 16 rows.
STRATA_AVX512 STRATA_INLINE __m128i BytesOf16Rows(const uint8_t* const (&rows)[16],
                                                  int64_t offset) {
  const auto byte = [&rows, offset ](int row) __attribute__((always_inline)) {
    return static_cast<char>(rows[row][offset]);
  };
  return _mm_setr_epi8(byte(0), byte(1), byte(2), byte(3), byte(4), byte(5), byte(6), byte(7),
                       byte(8), byte(9), byte(10), byte(11), byte(12), byte(13), byte(14),
                       byte(15));
}

// An f16 of each of 16 rows.
STRATA_AVX512 STRATA_INLINE __m512 HalvesOf16Rows(const uint8_t* const (&rows)[16],
                                                  int64_t offset) {
  const auto half = [&rows, offset ](int row) __attribute__((always_inline)) {
    return Load<int16_t>(rows[row] + offset);
  };
  return _mm512_cvtph_ps(_mm256_setr_epi16(half(0), half(1), half(2), half(3), half(4), half(5),
                                           half(6), half(7), half(8), half(9), half(10), half(11),
                                           half(12), half(13), half(14), half(15)));
}

// Sets pair_factors from `factors`, which is set.
STRATA_AVX512 STRATA_INLINE void SpreadFactors16(Codes256& out) {
  const __m512i eighths = _mm512_set_epi64(  // Lanes 8i .. 8i + 7 hold i.
      0x0003000300030003, 0x0003000300030003, 0x0002000200020002, 0x0002000200020002,
      0x0001000100010001, 0x0001000100010001, 0, 0);
  const __m512i factors = _mm512_castsi256_si512(out.factors);
  for (int k = 0; k < 4; ++k) {
    const __m512i index = _mm512_add_epi16(eighths, _mm512_set1_epi16(static_cast<int16_t>(4 * k)));
    out.pair_factors[k] = _mm512_permutexvar_epi16(index, factors);
  }
}

// Sets both from factors of 32 weights: the first four are lanes 0 .. 3, the others start at
// kFifth.
template <int kFifth>
STRATA_AVX512 STRATA_INLINE void SpreadFactors32(__m256i factors_of_32, Codes256& out) {
  const __m512i halves = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(1), 1);
  const __m512i factors = _mm512_castsi256_si512(factors_of_32);
  for (int k = 0; k < 4; ++k) {
    const int first = k < 2 ? 2 * k : kFifth + 2 * k - 4;
    const __m512i index = _mm512_add_epi16(halves, _mm512_set1_epi16(static_cast<int16_t>(first)));
    out.pair_factors[k] = _mm512_permutexvar_epi16(index, factors);
  }
  constexpr int k4 = kFifth, k5 = kFifth + 1, k6 = kFifth + 2, k7 = kFifth + 3;
  const __m256i twice = _mm256_set_epi16(k7, k7, k6, k6, k5, k5, k4, k4, 3, 3, 2, 2, 1, 1, 0, 0);
  out.factors = _mm256_permutexvar_epi16(twice, factors_of_32);
}

}  // namespace strata::x86::avx512

#endif  // STRATA_GENERATE_KERNELS_X86_CODES_AVX512_H_
