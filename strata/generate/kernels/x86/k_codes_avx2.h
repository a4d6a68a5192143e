// How the K types and IQ4_XS become codes in AVX2 registers: the AVX2 side of k_codes_avx512.h.
#ifndef STRATA_GENERATE_KERNELS_X86_K_CODES_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_K_CODES_AVX2_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/blocks/block_tables.h"
#include "strata/generate/kernels/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/codes_avx2.h"

namespace strata::x86::avx2 {

// Each type is a struct of this shape. A weight is code - kOffset, or the code with its sign where
// kHasSigns; kFactorWeights is 16 or 32; kStep the power of two of the scale.
struct Q4_K {
  static constexpr int kBlockBytes = 144;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = true;
  static constexpr int kFactorWeights = 32;
  static constexpr float kStep = 1.0f;

  // The 6-bit scales and minimums of Q4_K and Q5_K.
  STRATA_AVX2 static STRATA_INLINE void DecodeScales(const uint8_t* block, Codes256& out) {
    const auto low = Load<uint64_t>(block + 4);  // Four scales, four minimums.
    const auto high = Load<uint32_t>(block + 12);
    const uint64_t nibbles = high | static_cast<uint64_t>(high >> 4) << 32;
    const uint64_t first_four = low & 0x3f3f3f3f3f3f3f3f;
    const uint64_t last_four = (nibbles & 0x0f0f0f0f0f0f0f0f) | (low >> 2 & 0x3030303030303030);
    const __m128i all =
        _mm_set_epi64x(static_cast<int64_t>(last_four), static_cast<int64_t>(first_four));
    constexpr char kZero = -1;
    const __m128i scales = _mm_setr_epi8(0, kZero, 1, kZero, 2, kZero, 3, kZero, 8, kZero, 9, kZero,
                                         10, kZero, 11, kZero);
    out.factors = _mm256_broadcastsi128_si256(_mm_shuffle_epi8(all, scales));
    const __m128i mins = _mm_setr_epi8(4, kZero, 4, kZero, 5, kZero, 5, kZero, 6, kZero, 6, kZero,
                                       7, kZero, 7, kZero);
    const __m128i upper_mins = _mm_or_si128(mins, _mm_set1_epi16(8));
    out.mins = _mm256_set_m128i(_mm_shuffle_epi8(all, upper_mins), _mm_shuffle_epi8(all, mins));
    out.scale = Load<uint16_t>(block);
    out.min_scale = Load<uint16_t>(block + 2);
  }

  STRATA_AVX2 static STRATA_INLINE void DecodeNibbles(const uint8_t* runs, Codes256& out) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const __m256i bytes = Load256(runs + 32 * k);
      out.codes[2 * k] = LowNibbles(bytes);
      out.codes[2 * k + 1] = HighNibbles(bytes);
    }
  }

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeScales(block, out);
    DecodeNibbles(block + 16, out);
  }
};

// Bit `from` of each byte brought to bit `to`, alone.
STRATA_AVX2 STRATA_INLINE __m256i MoveBit(__m256i bytes, int from, int to) {
  const __m256i moved =
      from < to ? _mm256_slli_epi16(bytes, to - from) : _mm256_srli_epi16(bytes, from - to);
  return _mm256_and_si256(moved, _mm256_set1_epi8(static_cast<char>(1 << to)));
}

struct Q5_K : Q4_K {
  static constexpr int kBlockBytes = 176;

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeScales(block, out);
    DecodeNibbles(block + 48, out);
    const __m256i high = Load256(block + 16);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      out.codes[k] = _mm256_or_si256(out.codes[k], MoveBit(high, k, 4));
    }
  }
};

struct Q6_K {
  static constexpr int kBlockBytes = 210;
  static constexpr int kOffset = 32;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 16;
  static constexpr float kStep = 1.0f;

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
    out.scale = Load<uint16_t>(block + 208);
  }
};

STRATA_AVX2 STRATA_INLINE void DecodeCrumbs(const uint8_t* bytes, Codes256& out) {
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    const __m256i run = Load256(bytes + k / 4 * 32);
    out.codes[k] = _mm256_and_si256(_mm256_srli_epi16(run, 2 * (k % 4)), _mm256_set1_epi8(3));
  }
}

struct Q2_K {
  static constexpr int kBlockBytes = 84;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = true;
  static constexpr int kFactorWeights = 16;
  static constexpr float kStep = 1.0f;

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m256i packed = _mm256_cvtepu8_epi16(Load128(block));
    DecodeCrumbs(block + 16, out);
    out.factors = _mm256_and_si256(packed, _mm256_set1_epi16(15));
    out.mins = _mm256_srli_epi16(packed, 4);
    out.scale = Load<uint16_t>(block + 80);
    out.min_scale = Load<uint16_t>(block + 82);
  }
};

struct Q3_K {
  static constexpr int kBlockBytes = 110;
  static constexpr int kOffset = 4;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 16;
  static constexpr float kStep = 1.0f;

  STRATA_AVX2 static STRATA_INLINE __m256i Factors(const uint8_t* packed) {
    const auto low_0 = Load<uint32_t>(packed);
    const auto low_4 = Load<uint32_t>(packed + 4);
    const auto upper = Load<uint32_t>(packed + 8);
    const uint32_t scales_0 = (low_0 & 0x0f0f0f0f) | (upper << 4 & 0x30303030);
    const uint32_t scales_4 = (low_4 & 0x0f0f0f0f) | (upper << 2 & 0x30303030);
    const uint32_t scales_8 = (low_0 >> 4 & 0x0f0f0f0f) | (upper & 0x30303030);
    const uint32_t scales_12 = (low_4 >> 4 & 0x0f0f0f0f) | (upper >> 2 & 0x30303030);
    const __m128i scales = _mm_set_epi32(static_cast<int>(scales_12), static_cast<int>(scales_8),
                                         static_cast<int>(scales_4), static_cast<int>(scales_0));
    return _mm256_sub_epi16(_mm256_cvtepu8_epi16(scales), _mm256_set1_epi16(32));
  }

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeCrumbs(block + 32, out);
    const __m256i third_bits = Load256(block);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      out.codes[k] = _mm256_or_si256(out.codes[k], MoveBit(third_bits, k, 2));
    }
    out.factors = Factors(block + 96);
    out.scale = Load<uint16_t>(block + 108);
  }
};

struct IQ4_XS {
  static constexpr int kBlockBytes = 136;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = true;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 32;
  static constexpr float kStep = 1.0f;

  STRATA_AVX2 static STRATA_INLINE __m256i Factors(const uint8_t* block) {
    const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i crumbs = _mm256_set1_epi32(Load<uint16_t>(block + 2));
    const __m256i nibbles = _mm256_set1_epi32(Load<int32_t>(block + 4));
    const __m256i upper = _mm256_and_si256(_mm256_srlv_epi32(crumbs, _mm256_slli_epi32(lanes, 1)),
                                           _mm256_set1_epi32(3));
    const __m256i lower = _mm256_and_si256(_mm256_srlv_epi32(nibbles, _mm256_slli_epi32(lanes, 2)),
                                           _mm256_set1_epi32(15));
    const __m256i scales = _mm256_sub_epi32(_mm256_or_si256(lower, _mm256_slli_epi32(upper, 4)),
                                            _mm256_set1_epi32(32));
    // Four in each half become eight in each.
    const __m256i packed = _mm256_packs_epi32(scales, scales);
    return _mm256_permute4x64_epi64(packed, 0x88);
  }

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m256i values = _mm256_broadcastsi128_si256(Load128(kValuesIq4nl));
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      out.signs[k] = _mm256_shuffle_epi8(values, NibblesOfRun(block + 8 + 16 * k));
      out.codes[k] = _mm256_abs_epi8(out.signs[k]);
    }
    out.factors = Factors(block);
    out.scale = Load<uint16_t>(block);
  }
};

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_K_CODES_AVX2_H_
