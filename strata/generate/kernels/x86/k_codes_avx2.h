// How the K types and IQ4_XS become codes in AVX2 registers: the AVX2 side of k_codes_avx512.h.
#ifndef STRATA_GENERATE_KERNELS_X86_K_CODES_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_K_CODES_AVX2_H_

#include <cstdint>

#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/kernels/x86/codes_avx2.h"
#include "strata/generate/kernels/x86/formats_256.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/type_list.h"

namespace strata::x86::avx2 {

// Each type is a struct with the constants of its format and a Decode that fills in what the format
// has.

// The scales and minimums of Q4_K and Q5_K.
STRATA_AVX2 STRATA_INLINE void DecodeSixBitScales(const uint8_t* block, Codes256& out) {
  const __m128i all = SixBitScales(block + 4);
  constexpr char kZero = -1;
  const __m128i scales = _mm_setr_epi8(0, kZero, 1, kZero, 2, kZero, 3, kZero, 8, kZero, 9, kZero,
                                       10, kZero, 11, kZero);
  out.factors = _mm256_broadcastsi128_si256(_mm_shuffle_epi8(all, scales));
  const __m128i mins =
      _mm_setr_epi8(4, kZero, 4, kZero, 5, kZero, 5, kZero, 6, kZero, 6, kZero, 7, kZero, 7, kZero);
  const __m128i upper_mins = _mm_or_si128(mins, _mm_set1_epi16(8));
  out.mins = _mm256_set_m128i(_mm_shuffle_epi8(all, upper_mins), _mm_shuffle_epi8(all, mins));
}

// Four runs of 32 bytes, each as 64 codes of 4 bits: the low nibbles, then the high ones.
STRATA_AVX2 STRATA_INLINE void DecodeNibbles(const uint8_t* runs, Codes256& out) {
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    const __m256i bytes = Load256(runs + 32 * k);
    out.codes[2 * k] = LowNibbles(bytes);
    out.codes[2 * k + 1] = HighNibbles(bytes);
  }
}

struct Q4_K : Q4_K_Format {
  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeSixBitScales(block, out);
    DecodeNibbles(block + 16, out);
  }
};

// Bit `from` of each byte brought to bit `to`, alone.
STRATA_AVX2 STRATA_INLINE __m256i MoveBit(__m256i bytes, int from, int to) {
  const __m256i moved =
      from < to ? _mm256_slli_epi16(bytes, to - from) : _mm256_srli_epi16(bytes, from - to);
  return _mm256_and_si256(moved, _mm256_set1_epi8(static_cast<char>(1 << to)));
}

struct Q5_K : Q5_K_Format {
  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeSixBitScales(block, out);
    DecodeNibbles(block + 48, out);
    const __m256i high = Load256(block + 16);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      out.codes[k] = _mm256_or_si256(out.codes[k], MoveBit(high, k, 4));
    }
  }
};

struct Q6_K : Q6_K_Format {
  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m256i upper = _mm256_set1_epi8(48);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __m256i first = Load256(block + 64 * half);
      const __m256i second = Load256(block + 64 * half + 32);
      const __m256i crumbs = Load256(block + 128 + 32 * half);
      __m256i* codes = out.codes + 4 * half;
      codes[0] =
          _mm256_or_si256(LowNibbles(first), _mm256_and_si256(_mm256_slli_epi16(crumbs, 4), upper));
      codes[1] = _mm256_or_si256(LowNibbles(second),
                                 _mm256_and_si256(_mm256_slli_epi16(crumbs, 2), upper));
      codes[2] = _mm256_or_si256(HighNibbles(first), _mm256_and_si256(crumbs, upper));
      codes[3] = _mm256_or_si256(HighNibbles(second),
                                 _mm256_and_si256(_mm256_srli_epi16(crumbs, 2), upper));
    }
    out.factors = _mm256_cvtepi8_epi16(Load128(block + 192));
  }
};

STRATA_AVX2 STRATA_INLINE void DecodeCrumbs(const uint8_t* bytes, Codes256& out) {
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    const __m256i run = Load256(bytes + k / 4 * 32);
    out.codes[k] = _mm256_and_si256(_mm256_srli_epi16(run, 2 * (k % 4)), _mm256_set1_epi8(3));
  }
}

struct Q2_K : Q2_K_Format {
  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m256i packed = _mm256_cvtepu8_epi16(Load128(block));
    DecodeCrumbs(block + 16, out);
    out.factors = _mm256_and_si256(packed, _mm256_set1_epi16(15));
    out.mins = _mm256_srli_epi16(packed, 4);
  }
};

struct Q3_K : Q3_K_Format {
  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeCrumbs(block + 32, out);
    const __m256i third_bits = Load256(block);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      out.codes[k] = _mm256_or_si256(out.codes[k], MoveBit(third_bits, k, 2));
    }
    out.factors = SignedSixBitScales(block + 96);
  }
};

struct IQ4_XS : IQ4_XS_Format {
  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m256i values = _mm256_broadcastsi128_si256(Load128(kValuesIq4nl));
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      out.signs[k] = _mm256_shuffle_epi8(values, NibblesOfRun(block + 8 + 16 * k));
      out.codes[k] = _mm256_abs_epi8(out.signs[k]);
    }
    out.factors = ScalesOfIq4xs(block);
  }
};

using KTypes = TypeList<Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS>;

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_K_CODES_AVX2_H_
