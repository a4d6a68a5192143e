// How the types that meet activations in blocks of 32 become codes in AVX-512 registers, two blocks
// at a time. The layouts are explained beside the scalar unpackers (strata/generate/blocks/
// unpack_codes.cc and unpack_values.cc).
#ifndef STRATA_GENERATE_KERNELS_X86_CODES_32_AVX512_H_
#define STRATA_GENERATE_KERNELS_X86_CODES_32_AVX512_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/codes_avx512.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/type_list.h"

namespace strata::x86::avx512 {

// Each type is a struct of this shape. A weight is code - kOffset, codes being 0 .. 255. Codes
// gives those of block `first` of a row, then those of block `second`; blocks are counted in 32
// weights. Scales gives those of one block of 16 rows.

// Types whose block is 32 weights and begins with the f16 scale (then that of the minimum).
template <BlockType kTypeOf, int kBytes, int kOffsetOfType, bool kMins>
struct HalfScaled32 {
  static constexpr BlockType kType = kTypeOf;
  static constexpr int kOffset = kOffsetOfType;
  static constexpr bool kHasMins = kMins;

  static STRATA_INLINE const uint8_t* BlockOf(const uint8_t* row, int64_t index) {
    return row + index * kBytes;
  }
  STRATA_AVX512 static STRATA_INLINE __m512 Scales(const uint8_t* const (&rows)[16],
                                                   int64_t index) {
    return HalvesOf16Rows(rows, index * kBytes);
  }
  STRATA_AVX512 static STRATA_INLINE __m512 MinScales(const uint8_t* const (&rows)[16],
                                                      int64_t index) {
    return HalvesOf16Rows(rows, index * kBytes + 2);
  }
};

struct Q8_0 : HalfScaled32<BlockType::kQ8_0, 34, 128, false> {
  STRATA_AVX512 static STRATA_INLINE __m512i Codes(const uint8_t* row, int64_t first,
                                                   int64_t second) {
    const __m512i low = _mm512_castsi256_si512(Load256(BlockOf(row, first) + 2));
    const __m512i weights = _mm512_inserti64x4(low, Load256(BlockOf(row, second) + 2), 1);
    return _mm512_xor_si512(weights, _mm512_set1_epi8(-128));
  }
};

struct Q4_0 : HalfScaled32<BlockType::kQ4_0, 18, 8, false> {
  STRATA_AVX512 static STRATA_INLINE __m512i Codes(const uint8_t* row, int64_t first,
                                                   int64_t second) {
    return NibblesOfTwoRuns(BlockOf(row, first) + 2, BlockOf(row, second) + 2);
  }
};

struct Q4_1 : HalfScaled32<BlockType::kQ4_1, 20, 0, true> {
  STRATA_AVX512 static STRATA_INLINE __m512i Codes(const uint8_t* row, int64_t first,
                                                   int64_t second) {
    return NibblesOfTwoRuns(BlockOf(row, first) + 4, BlockOf(row, second) + 4);
  }
};

// 64 codes of 5 bits from two blocks: their 32 fifth bits, then nibbles.
STRATA_AVX512 STRATA_INLINE __m512i FiveBitCodes(const uint8_t* first, const uint8_t* second) {
  const __m512i low = NibblesOfTwoRuns(first + 4, second + 4);
  const __mmask64 fifth = Load<uint32_t>(first) | uint64_t{Load<uint32_t>(second)} << 32;
  return _mm512_mask_add_epi8(low, fifth, low, _mm512_set1_epi8(16));
}

struct Q5_0 : HalfScaled32<BlockType::kQ5_0, 22, 16, false> {
  STRATA_AVX512 static STRATA_INLINE __m512i Codes(const uint8_t* row, int64_t first,
                                                   int64_t second) {
    return FiveBitCodes(BlockOf(row, first) + 2, BlockOf(row, second) + 2);
  }
};

struct Q5_1 : HalfScaled32<BlockType::kQ5_1, 24, 0, true> {
  STRATA_AVX512 static STRATA_INLINE __m512i Codes(const uint8_t* row, int64_t first,
                                                   int64_t second) {
    return FiveBitCodes(BlockOf(row, first) + 4, BlockOf(row, second) + 4);
  }
};

struct IQ4_NL : HalfScaled32<BlockType::kIQ4_NL, 18, 128, false> {
  STRATA_AVX512 static STRATA_INLINE __m512i Codes(const uint8_t* row, int64_t first,
                                                   int64_t second) {
    const __m128i values = _mm_xor_si128(Load128(kValuesIq4nl), _mm_set1_epi8(-128));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(values),
                               NibblesOfTwoRuns(BlockOf(row, first) + 2, BlockOf(row, second) + 2));
  }
};

struct MXFP4 {
  static constexpr BlockType kType = BlockType::kMXFP4;
  static constexpr int kOffset = 12;
  static constexpr bool kHasMins = false;
  static constexpr int kBytes = 17;

  STRATA_AVX512 static STRATA_INLINE __m512i Codes(const uint8_t* row, int64_t first,
                                                   int64_t second) {
    const __m128i values = _mm_add_epi8(Load128(kValuesMxfp4), _mm_set1_epi8(kOffset));
    return _mm512_shuffle_epi8(
        _mm512_broadcast_i32x4(values),
        NibblesOfTwoRuns(row + first * kBytes + 1, row + second * kBytes + 1));
  }

  // 2^(e - 128): below exponent 2 a subnormal.
  STRATA_AVX512 static STRATA_INLINE __m512 Scales(const uint8_t* const (&rows)[16],
                                                   int64_t index) {
    const __m512i exponents = _mm512_cvtepu8_epi32(BytesOf16Rows(rows, index * kBytes));
    const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(exponents, _mm512_set1_epi32(1)), 23);
    const __mmask16 is_small = _mm512_cmplt_epu32_mask(exponents, _mm512_set1_epi32(2));
    const __m512i small = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), exponents);
    return _mm512_castsi512_ps(_mm512_mask_mov_epi32(normal, is_small, small));
  }
};

// Blocks of 64 under one scale, codes of 2 bits in order.
struct Q2_0 {
  static constexpr BlockType kType = BlockType::kQ2_0;
  static constexpr int kOffset = 1;
  static constexpr bool kHasMins = false;
  static constexpr int kBytes = 18;

  STRATA_AVX512 static STRATA_INLINE __m512i Codes(const uint8_t* row, int64_t first,
                                                   int64_t second) {
    const auto low = Load<int64_t>(row + first / 2 * kBytes + 2 + first % 2 * 8);
    const auto high = Load<int64_t>(row + second / 2 * kBytes + 2 + second % 2 * 8);
    // A byte per lane of 32 bits, then each code where its byte will be.
    const __m512i bytes = _mm512_cvtepu8_epi32(_mm_set_epi64x(high, low));
    const __m512i two = _mm512_or_si512(bytes, _mm512_slli_epi32(bytes, 6));
    const __m512i four = _mm512_or_si512(two, _mm512_slli_epi32(two, 12));
    return _mm512_and_si512(four, _mm512_set1_epi8(3));
  }
  STRATA_AVX512 static STRATA_INLINE __m512 Scales(const uint8_t* const (&rows)[16],
                                                   int64_t index) {
    return HalvesOf16Rows(rows, index / 2 * kBytes);
  }
};

// Blocks of 128 under one scale, a bit a weight: set is +1.
struct Q1_0 {
  static constexpr BlockType kType = BlockType::kQ1_0;
  static constexpr int kOffset = 1;
  static constexpr bool kHasMins = false;
  static constexpr int kBytes = 18;

  static STRATA_INLINE uint32_t BitsOf(const uint8_t* row, int64_t index) {
    return Load<uint32_t>(row + index / 4 * kBytes + 2 + index % 4 * 4);
  }
  STRATA_AVX512 static STRATA_INLINE __m512i Codes(const uint8_t* row, int64_t first,
                                                   int64_t second) {
    const __mmask64 set = BitsOf(row, first) | uint64_t{BitsOf(row, second)} << 32;
    return _mm512_maskz_mov_epi8(set, _mm512_set1_epi8(2));
  }
  STRATA_AVX512 static STRATA_INLINE __m512 Scales(const uint8_t* const (&rows)[16],
                                                   int64_t index) {
    return HalvesOf16Rows(rows, index / 4 * kBytes);
  }
};

using Types32 = TypeList<Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, MXFP4, Q2_0, Q1_0>;

}  // namespace strata::x86::avx512

#endif  // STRATA_GENERATE_KERNELS_X86_CODES_32_AVX512_H_
