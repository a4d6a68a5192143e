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
  // int16, one per four weights as PackFours has them: of codes[0] and codes[1], [2] and [3].
  __m512i four_factors[2];
  __m256i factors;  // int16, one per 16 weights.
  __m256i mins;     // int16, one per 16 weights, where the type has them.
};

STRATA_AVX512 STRATA_INLINE __m512i Load512(const void* bytes) { return _mm512_loadu_si512(bytes); }

// As Load512, for what is used more than once: the compiler would load it for each use, and a load
// that crosses cache lines costs more than a register.
STRATA_AVX512 STRATA_INLINE __m512i Load512Once(const void* bytes) {
  __m512i loaded = Load512(bytes);
  asm("" : "+v"(loaded));
  return loaded;
}

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

// 64-bit lane i of the result: 16 bits of number i, four times.
STRATA_AVX512 STRATA_INLINE __m512i RepeatFourTimes(int64_t n0, int64_t n1, int64_t n2, int64_t n3,
                                                    int64_t n4, int64_t n5, int64_t n6,
                                                    int64_t n7) {
  constexpr int64_t kEach = 0x0001000100010001;
  return _mm512_setr_epi64(n0 * kEach, n1 * kEach, n2 * kEach, n3 * kEach, n4 * kEach, n5 * kEach,
                           n6 * kEach, n7 * kEach);
}

// Sums of four products, of two registers of codes: within each 128 bits four of `first` come before
// four of `second`.
STRATA_AVX512 STRATA_INLINE __m512i PackFours(__m512i first, __m512i second) {
  return _mm512_packs_epi32(first, second);
}

// The factors at `index`, and at those `step` behind.
STRATA_AVX512 STRATA_INLINE __m512i PickFactors(__m256i factors, __m512i index, int step) {
  const __m512i at = _mm512_add_epi16(index, _mm512_set1_epi16(static_cast<int16_t>(step)));
  return _mm512_permutexvar_epi16(at, _mm512_castsi256_si512(factors));
}

// Sets four_factors from `factors`, which is set.
STRATA_AVX512 STRATA_INLINE void SpreadFactors16(Codes256& out) {
  const __m512i index = RepeatFourTimes(0, 4, 1, 5, 2, 6, 3, 7);
  for (int k = 0; k < 2; ++k) out.four_factors[k] = PickFactors(out.factors, index, 8 * k);
}

// Sets all from factors of 32 weights: the first four are lanes 0 .. 3, the others start at kFifth.
template <int kFifth>
STRATA_AVX512 STRATA_INLINE void SpreadFactors32(__m256i factors_of_32, Codes256& out) {
  const __m512i halves = RepeatFourTimes(0, 0, 0, 0, 1, 1, 1, 1);
  for (int k = 0; k < 4; ++k) {
    const int first = k < 2 ? 2 * k : kFifth + 2 * k - 4;
    out.pair_factors[k] = PickFactors(factors_of_32, halves, first);
  }
  const __m512i fours = RepeatFourTimes(0, 2, 0, 2, 1, 3, 1, 3);
  for (int k = 0; k < 2; ++k) {
    out.four_factors[k] = PickFactors(factors_of_32, fours, kFifth * k);
  }
  constexpr int k4 = kFifth, k5 = kFifth + 1, k6 = kFifth + 2, k7 = kFifth + 3;
  const __m256i twice = _mm256_set_epi16(k7, k7, k6, k6, k5, k5, k4, k4, 3, 3, 2, 2, 1, 1, 0, 0);
  out.factors = _mm256_permutexvar_epi16(twice, factors_of_32);
}

}  // namespace strata::x86::avx512

#endif  // STRATA_GENERATE_KERNELS_X86_CODES_AVX512_H_
