// How the K types and IQ4_XS become codes in AVX-512 registers. The layouts are explained beside
// the scalar unpackers (strata/generate/blocks/unpack_k.cc and unpack_values.cc).
#ifndef STRATA_GENERATE_KERNELS_X86_K_CODES_AVX512_H_
#define STRATA_GENERATE_KERNELS_X86_K_CODES_AVX512_H_

#include <cstdint>

#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/kernels/x86/codes_avx512.h"
#include "strata/generate/kernels/x86/formats_256.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/type_list.h"

namespace strata::x86::avx512 {

// Each type is a struct with the constants of its format and a Decode that fills in what the format
// has.

// The scales and minimums of Q4_K and Q5_K.
STRATA_AVX512 STRATA_INLINE void DecodeSixBitScales(const uint8_t* block, Codes256& out) {
  const __m256i all = _mm256_cvtepu8_epi16(SixBitScales(block + 4));
  SpreadFactors32<8>(all, out);
  const __m256i mins = _mm256_set_epi16(15, 15, 14, 14, 13, 13, 12, 12, 7, 7, 6, 6, 5, 5, 4, 4);
  out.mins = _mm256_permutexvar_epi16(mins, all);
}

// 32 bytes as 64 codes of 4 bits: the low nibbles, then the high ones.
STRATA_AVX512 STRATA_INLINE __m512i NibblesOfRun(const uint8_t* run) {
  const __m512i bytes = Load256Twice(run);
  const __m512i shifted = _mm512_mask_srli_epi64(bytes, 0xf0, bytes, 4);
  return _mm512_and_si512(shifted, _mm512_set1_epi8(15));
}

struct Q4_K : Q4_K_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeSixBitScales(block, out);
    for (int k = 0; k < 4; ++k) out.codes[k] = NibblesOfRun(block + 16 + 32 * k);
  }
};

// Bytes whose bits 2k (the first 32) and 2k + 1 (the others) are set.
STRATA_AVX512 STRATA_INLINE __m512i BitsOfRun(int k) {
  const __m512i first = _mm512_set1_epi8(static_cast<char>(1 << 2 * k));
  return _mm512_mask_slli_epi64(first, 0xf0, first, 1);
}

struct Q5_K : Q5_K_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeSixBitScales(block, out);
    const __m512i high = Load256Twice(block + 16);
    for (int k = 0; k < 4; ++k) {
      const __m512i low = NibblesOfRun(block + 48 + 32 * k);
      const __mmask64 fifth = _mm512_test_epi8_mask(high, BitsOfRun(k));
      out.codes[k] = _mm512_mask_add_epi8(low, fifth, low, _mm512_set1_epi8(16));
    }
  }
};

struct Q6_K : Q6_K_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m512i four_bits = _mm512_set1_epi8(15);
    const __m512i upper_bits = _mm512_set1_epi8(48);
    // Rotations that bring crumbs 0 .. 3 of a byte to bits 4 and 5.
    const __m512i rotate_01 = _mm512_mask_set1_epi32(_mm512_set1_epi32(4), 0xff00, 2);
    const __m512i rotate_23 = _mm512_mask_set1_epi32(_mm512_setzero_si512(), 0xff00, 30);
    constexpr int kAAndBOrC = 0xea;
    for (int half = 0; half < 2; ++half) {
      const __m512i low = Load512(block + 64 * half);
      const __m512i crumbs = Load256Twice(block + 128 + 32 * half);
      const __m512i high_01 = _mm512_and_si512(_mm512_rolv_epi32(crumbs, rotate_01), upper_bits);
      const __m512i high_23 = _mm512_and_si512(_mm512_rolv_epi32(crumbs, rotate_23), upper_bits);
      out.codes[2 * half] = _mm512_ternarylogic_epi32(low, four_bits, high_01, kAAndBOrC);
      out.codes[2 * half + 1] =
          _mm512_ternarylogic_epi32(_mm512_srli_epi16(low, 4), four_bits, high_23, kAAndBOrC);
    }
    out.factors = _mm256_cvtepi8_epi16(Load128(block + 192));
    SpreadFactors16(out);
  }
};

// Crumbs 2k and 2k + 1 of each of 32 bytes.
template <int kPair>
STRATA_AVX512 STRATA_INLINE __m512i CrumbsOfRun(__m512i bytes_twice) {
  __m512i shifted = _mm512_mask_srli_epi64(bytes_twice, 0xf0, bytes_twice, 2);
  if (kPair == 1) shifted = _mm512_srli_epi64(shifted, 4);
  return _mm512_and_si512(shifted, _mm512_set1_epi8(3));
}

STRATA_AVX512 STRATA_INLINE void DecodeCrumbs(const uint8_t* bytes, Codes256& out) {
  for (int half = 0; half < 2; ++half) {
    const __m512i twice = Load256Twice(bytes + 32 * half);
    out.codes[2 * half] = CrumbsOfRun<0>(twice);
    out.codes[2 * half + 1] = CrumbsOfRun<1>(twice);
  }
}

struct Q2_K : Q2_K_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m256i packed = _mm256_cvtepu8_epi16(Load128(block));
    DecodeCrumbs(block + 16, out);
    out.factors = _mm256_and_si256(packed, _mm256_set1_epi16(15));
    out.mins = _mm256_srli_epi16(packed, 4);
    SpreadFactors16(out);
  }
};

struct Q3_K : Q3_K_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeCrumbs(block + 32, out);
    const __m512i third_bits = Load256Twice(block);
    for (int k = 0; k < 4; ++k) {
      const __mmask64 third = _mm512_test_epi8_mask(third_bits, BitsOfRun(k));
      out.codes[k] = _mm512_mask_add_epi8(out.codes[k], third, out.codes[k], _mm512_set1_epi8(4));
    }
    out.factors = SignedSixBitScales(block + 96);
    SpreadFactors16(out);
  }
};

struct IQ4_XS : IQ4_XS_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m512i values = _mm512_broadcast_i32x4(Load128(kValuesIq4nl));
    for (int k = 0; k < 4; ++k) {
      const uint8_t* run = block + 8 + 32 * k;
      const __m512i weights = _mm512_shuffle_epi8(values, NibblesOfTwoRuns(run, run + 16));
      out.negative[k] = _mm512_movepi8_mask(weights);
      out.codes[k] = _mm512_abs_epi8(weights);
    }
    SpreadFactors32<4>(ScalesOfIq4xs(block), out);
  }
};

using KTypes = TypeList<Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS>;

}  // namespace strata::x86::avx512

#endif  // STRATA_GENERATE_KERNELS_X86_K_CODES_AVX512_H_
