// How the K types and IQ4_XS become codes in AVX-512 registers. The layouts are explained beside
// the scalar unpackers (strata/generate/kernels/blocks/unpack_k.cc and unpack_values.cc).
#ifndef STRATA_GENERATE_KERNELS_X86_K_CODES_AVX512_H_
#define STRATA_GENERATE_KERNELS_X86_K_CODES_AVX512_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/blocks/block_tables.h"
#include "strata/generate/kernels/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/codes_avx512.h"

namespace strata::x86::avx512 {

// Each type is a struct of this shape. A weight is code - kOffset, or the code negated by its sign
// bit where kHasSigns; kWeightsPerFactor is 16 or 32; kStep the power of two of the scale.
struct Q4_K {
  static constexpr BlockType kType = BlockType::kQ4_K;
  static constexpr int kBlockBytes = 144;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = true;
  static constexpr int kFactorWeights = 32;
  static constexpr float kStep = 1.0f;

  // The 6-bit scales and minimums of Q4_K and Q5_K.
  STRATA_AVX512 static STRATA_INLINE void DecodeScales(const uint8_t* block, Codes256& out) {
    const auto low = Load<uint64_t>(block + 4);  // Four scales, four minimums.
    const auto high = Load<uint32_t>(block + 12);
    const uint64_t nibbles = high | static_cast<uint64_t>(high >> 4) << 32;
    const uint64_t first_four = low & 0x3f3f3f3f3f3f3f3f;
    const uint64_t last_four = (nibbles & 0x0f0f0f0f0f0f0f0f) | (low >> 2 & 0x3030303030303030);
    const __m256i all = _mm256_cvtepu8_epi16(
        _mm_set_epi64x(static_cast<int64_t>(last_four), static_cast<int64_t>(first_four)));
    SpreadFactors32<8>(all, out);
    const __m256i mins = _mm256_set_epi16(15, 15, 14, 14, 13, 13, 12, 12, 7, 7, 6, 6, 5, 5, 4, 4);
    out.mins = _mm256_permutexvar_epi16(mins, all);
    out.scale = Load<uint16_t>(block);
    out.min_scale = Load<uint16_t>(block + 2);
  }

  STRATA_AVX512 static STRATA_INLINE __m512i Nibbles(const uint8_t* run) {
    const __m512i bytes = Load256Twice(run);
    const __m512i shifted = _mm512_mask_srli_epi64(bytes, 0xf0, bytes, 4);
    return _mm512_and_si512(shifted, _mm512_set1_epi8(15));
  }

  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeScales(block, out);
    for (int k = 0; k < 4; ++k) out.codes[k] = Nibbles(block + 16 + 32 * k);
  }
};

// Bytes whose bits 2k (the first 32) and 2k + 1 (the others) are set.
STRATA_AVX512 STRATA_INLINE __m512i BitsOfRun(int k) {
  const __m512i first = _mm512_set1_epi8(static_cast<char>(1 << 2 * k));
  return _mm512_mask_slli_epi64(first, 0xf0, first, 1);
}

struct Q5_K : Q4_K {
  static constexpr BlockType kType = BlockType::kQ5_K;
  static constexpr int kBlockBytes = 176;

  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeScales(block, out);
    const __m512i high = Load256Twice(block + 16);
    for (int k = 0; k < 4; ++k) {
      const __m512i low = Nibbles(block + 48 + 32 * k);
      const __mmask64 fifth = _mm512_test_epi8_mask(high, BitsOfRun(k));
      out.codes[k] = _mm512_mask_add_epi8(low, fifth, low, _mm512_set1_epi8(16));
    }
  }
};

struct Q6_K {
  static constexpr BlockType kType = BlockType::kQ6_K;
  static constexpr int kBlockBytes = 210;
  static constexpr int kOffset = 32;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 16;
  static constexpr float kStep = 1.0f;

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
    out.scale = Load<uint16_t>(block + 208);
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

struct Q2_K {
  static constexpr BlockType kType = BlockType::kQ2_K;
  static constexpr int kBlockBytes = 84;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = true;
  static constexpr int kFactorWeights = 16;
  static constexpr float kStep = 1.0f;

  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m256i packed = _mm256_cvtepu8_epi16(Load128(block));
    DecodeCrumbs(block + 16, out);
    out.factors = _mm256_and_si256(packed, _mm256_set1_epi16(15));
    out.mins = _mm256_srli_epi16(packed, 4);
    SpreadFactors16(out);
    out.scale = Load<uint16_t>(block + 80);
    out.min_scale = Load<uint16_t>(block + 82);
  }
};

struct Q3_K {
  static constexpr BlockType kType = BlockType::kQ3_K;
  static constexpr int kBlockBytes = 110;
  static constexpr int kOffset = 4;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 16;
  static constexpr float kStep = 1.0f;

  STRATA_AVX512 static STRATA_INLINE __m256i Factors(const uint8_t* packed) {
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

  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    DecodeCrumbs(block + 32, out);
    const __m512i third_bits = Load256Twice(block);
    for (int k = 0; k < 4; ++k) {
      const __mmask64 third = _mm512_test_epi8_mask(third_bits, BitsOfRun(k));
      out.codes[k] = _mm512_mask_add_epi8(out.codes[k], third, out.codes[k], _mm512_set1_epi8(4));
    }
    out.factors = Factors(block + 96);
    SpreadFactors16(out);
    out.scale = Load<uint16_t>(block + 108);
  }
};

struct IQ4_XS {
  static constexpr BlockType kType = BlockType::kIQ4_XS;
  static constexpr int kBlockBytes = 136;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = true;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 32;
  static constexpr float kStep = 1.0f;

  STRATA_AVX512 static STRATA_INLINE __m128i FactorsOf32(const uint8_t* block) {
    const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i crumbs = _mm256_set1_epi32(Load<uint16_t>(block + 2));
    const __m256i nibbles = _mm256_set1_epi32(Load<int32_t>(block + 4));
    const __m256i upper = _mm256_and_si256(_mm256_srlv_epi32(crumbs, _mm256_slli_epi32(lanes, 1)),
                                           _mm256_set1_epi32(3));
    const __m256i lower = _mm256_and_si256(_mm256_srlv_epi32(nibbles, _mm256_slli_epi32(lanes, 2)),
                                           _mm256_set1_epi32(15));
    const __m256i scales = _mm256_or_si256(lower, _mm256_slli_epi32(upper, 4));
    return _mm256_cvtepi32_epi16(_mm256_sub_epi32(scales, _mm256_set1_epi32(32)));
  }

  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m512i values = _mm512_broadcast_i32x4(Load128(kValuesIq4nl));
    for (int k = 0; k < 4; ++k) {
      const uint8_t* run = block + 8 + 32 * k;
      const __m512i weights = _mm512_shuffle_epi8(values, NibblesOfTwoRuns(run, run + 16));
      out.negative[k] = _mm512_movepi8_mask(weights);
      out.codes[k] = _mm512_abs_epi8(weights);
    }
    SpreadFactors32<4>(_mm256_castsi128_si256(FactorsOf32(block)), out);
    out.scale = Load<uint16_t>(block);
  }
};

}  // namespace strata::x86::avx512

#endif  // STRATA_GENERATE_KERNELS_X86_K_CODES_AVX512_H_
