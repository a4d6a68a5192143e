// How the types that meet activations in blocks of 32 become codes in AVX2 registers, a block at a
// time: the AVX2 side of codes_32_avx512.h.
#ifndef STRATA_GENERATE_KERNELS_X86_CODES_32_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_CODES_32_AVX2_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/codes_avx2.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/type_list.h"

namespace strata::x86::avx2 {

// Each type is a struct of this shape. Where kHasSigns, Codes gives the int8 weights themselves;
// else a weight is code - kOffset, codes being 0 .. 31. Blocks are counted in 32 weights. Scales
// gives those of one block of 8 rows.

// An f16 of each of 8 rows.
STRATA_AVX2 STRATA_INLINE __m256 HalvesOf8Rows(const uint8_t* const (&rows)[8], int64_t offset) {
  const auto half = [&rows, offset ](int row) __attribute__((always_inline)) {
    return Load<int16_t>(rows[row] + offset);
  };
  return _mm256_cvtph_ps(
      _mm_setr_epi16(half(0), half(1), half(2), half(3), half(4), half(5), half(6), half(7)));
}

// Types whose block is 32 weights and begins with the f16 scale (then that of the minimum).
template <BlockType kTypeOf, int kBytes, int kOffsetOfType, bool kSigns, bool kMins>
struct HalfScaled32 {
  static constexpr BlockType kType = kTypeOf;
  static constexpr int kOffset = kOffsetOfType;
  static constexpr bool kHasSigns = kSigns;
  static constexpr bool kHasMins = kMins;

  static STRATA_INLINE const uint8_t* BlockOf(const uint8_t* row, int64_t index) {
    return row + index * kBytes;
  }
  STRATA_AVX2 static STRATA_INLINE __m256 Scales(const uint8_t* const (&rows)[8], int64_t index) {
    return HalvesOf8Rows(rows, index * kBytes);
  }
  STRATA_AVX2 static STRATA_INLINE __m256 MinScales(const uint8_t* const (&rows)[8],
                                                    int64_t index) {
    return HalvesOf8Rows(rows, index * kBytes + 2);
  }
};

struct Q8_0 : HalfScaled32<BlockType::kQ8_0, 34, 0, true, false> {
  STRATA_AVX2 static STRATA_INLINE __m256i Codes(const uint8_t* row, int64_t index) {
    return Load256(BlockOf(row, index) + 2);
  }
};

struct Q4_0 : HalfScaled32<BlockType::kQ4_0, 18, 8, false, false> {
  STRATA_AVX2 static STRATA_INLINE __m256i Codes(const uint8_t* row, int64_t index) {
    return NibblesOfRun(BlockOf(row, index) + 2);
  }
};

struct Q4_1 : HalfScaled32<BlockType::kQ4_1, 20, 0, false, true> {
  STRATA_AVX2 static STRATA_INLINE __m256i Codes(const uint8_t* row, int64_t index) {
    return NibblesOfRun(BlockOf(row, index) + 4);
  }
};

// 32 codes of 5 bits: the fifth bits, then nibbles.
STRATA_AVX2 STRATA_INLINE __m256i FiveBitCodes(const uint8_t* bytes) {
  const __m256i fifth = _mm256_and_si256(MaskOfBits(Load<uint32_t>(bytes)), _mm256_set1_epi8(16));
  return _mm256_or_si256(NibblesOfRun(bytes + 4), fifth);
}

struct Q5_0 : HalfScaled32<BlockType::kQ5_0, 22, 16, false, false> {
  STRATA_AVX2 static STRATA_INLINE __m256i Codes(const uint8_t* row, int64_t index) {
    return FiveBitCodes(BlockOf(row, index) + 2);
  }
};

struct Q5_1 : HalfScaled32<BlockType::kQ5_1, 24, 0, false, true> {
  STRATA_AVX2 static STRATA_INLINE __m256i Codes(const uint8_t* row, int64_t index) {
    return FiveBitCodes(BlockOf(row, index) + 4);
  }
};

struct IQ4_NL : HalfScaled32<BlockType::kIQ4_NL, 18, 0, true, false> {
  STRATA_AVX2 static STRATA_INLINE __m256i Codes(const uint8_t* row, int64_t index) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(Load128(kValuesIq4nl)),
                               NibblesOfRun(BlockOf(row, index) + 2));
  }
};

struct MXFP4 {
  static constexpr BlockType kType = BlockType::kMXFP4;
  static constexpr int kOffset = 12;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = false;
  static constexpr int kBytes = 17;

  STRATA_AVX2 static STRATA_INLINE __m256i Codes(const uint8_t* row, int64_t index) {
    const __m128i values = _mm_add_epi8(Load128(kValuesMxfp4), _mm_set1_epi8(kOffset));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values),
                               NibblesOfRun(row + index * kBytes + 1));
  }

  // 2^(e - 128): below exponent 2 a subnormal.
  STRATA_AVX2 static STRATA_INLINE __m256 Scales(const uint8_t* const (&rows)[8], int64_t index) {
    const auto exponent = [&rows, index ](int row) __attribute__((always_inline)) {
      return int{rows[row][index * kBytes]};
    };
    const __m256i exponents = _mm256_setr_epi32(exponent(0), exponent(1), exponent(2), exponent(3),
                                                exponent(4), exponent(5), exponent(6), exponent(7));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(exponents, _mm256_set1_epi32(1)), 23);
    const __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), exponents);
    const __m256i is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), exponents);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, small, is_small));
  }
};

// Blocks of 64 under one scale, codes of 2 bits in order.
struct Q2_0 {
  static constexpr BlockType kType = BlockType::kQ2_0;
  static constexpr int kOffset = 1;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = false;
  static constexpr int kBytes = 18;

  STRATA_AVX2 static STRATA_INLINE __m256i Codes(const uint8_t* row, int64_t index) {
    // A byte per lane of 32 bits, then each code where its byte will be.
    const __m256i bytes =
        _mm256_cvtepu8_epi32(Load64(row + index / 2 * kBytes + 2 + index % 2 * 8));
    const __m256i two = _mm256_or_si256(bytes, _mm256_slli_epi32(bytes, 6));
    const __m256i four = _mm256_or_si256(two, _mm256_slli_epi32(two, 12));
    return _mm256_and_si256(four, _mm256_set1_epi8(3));
  }
  STRATA_AVX2 static STRATA_INLINE __m256 Scales(const uint8_t* const (&rows)[8], int64_t index) {
    return HalvesOf8Rows(rows, index / 2 * kBytes);
  }
};

// Blocks of 128 under one scale, a bit a weight: set is +1.
struct Q1_0 {
  static constexpr BlockType kType = BlockType::kQ1_0;
  static constexpr int kOffset = 1;
  static constexpr bool kHasSigns = false;
  static constexpr bool kHasMins = false;
  static constexpr int kBytes = 18;

  STRATA_AVX2 static STRATA_INLINE __m256i Codes(const uint8_t* row, int64_t index) {
    const auto bits = Load<uint32_t>(row + index / 4 * kBytes + 2 + index % 4 * 4);
    return _mm256_and_si256(MaskOfBits(bits), _mm256_set1_epi8(2));
  }
  STRATA_AVX2 static STRATA_INLINE __m256 Scales(const uint8_t* const (&rows)[8], int64_t index) {
    return HalvesOf8Rows(rows, index / 4 * kBytes);
  }
};

using Types32 = TypeList<Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, MXFP4, Q2_0, Q1_0>;

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_CODES_32_AVX2_H_
