// Scales of sub-blocks as they are packed in a block, and other short codes: what 128 and 256 bits
// are enough for, so both instruction sets share it.
#ifndef STRATA_GENERATE_KERNELS_X86_PACKED_SCALES_H_
#define STRATA_GENERATE_KERNELS_X86_PACKED_SCALES_H_

#include <cstdint>

#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/target.h"

namespace strata::x86 {

STRATA_AVX2 STRATA_INLINE __m256i Load256(const void* bytes) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(bytes));
}
STRATA_AVX2 STRATA_INLINE __m128i Load128(const void* bytes) {
  return _mm_loadu_si128(static_cast<const __m128i*>(bytes));
}
STRATA_AVX2 STRATA_INLINE __m128i Load64(const void* bytes) {
  return _mm_loadl_epi64(static_cast<const __m128i*>(bytes));
}

// 16 codes of 4 bits, where byte j holds codes 2j (low) and 2j + 1 (high), as bytes.
STRATA_AVX2 STRATA_INLINE __m128i PairedNibbles(__m128i bytes) {
  const __m128i low = _mm_and_si128(bytes, _mm_set1_epi8(15));
  const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(15));
  return _mm_unpacklo_epi8(low, high);
}

// 2t + 1 for the 16 paired nibbles t of 8 bytes, as int16.
STRATA_AVX2 STRATA_INLINE __m256i OddFactors(__m128i bytes) {
  const __m256i steps = _mm256_cvtepu8_epi16(PairedNibbles(bytes));
  return _mm256_add_epi16(_mm256_add_epi16(steps, steps), _mm256_set1_epi16(1));
}

// The low four of each half of eight int32, eight in each half of as many int16.
STRATA_AVX2 STRATA_INLINE __m256i NarrowTwice(__m256i values) {
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(values, values), 0x88);
}

// 2t + 1 for the top four bits t of eight words, twice.
STRATA_AVX2 STRATA_INLINE __m256i OddFactorsOfWords(__m256i words) {
  const __m256i steps = _mm256_srli_epi32(words, 28);
  return NarrowTwice(_mm256_add_epi32(_mm256_add_epi32(steps, steps), _mm256_set1_epi32(1)));
}

// The second of every two of 16 words.
STRATA_AVX2 STRATA_INLINE __m256i OddWords(const uint8_t* words) {
  const __m256 odd = _mm256_shuffle_ps(_mm256_castsi256_ps(Load256(words)),
                                       _mm256_castsi256_ps(Load256(words + 32)), 0xdd);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(odd), 0xd8);
}

// The 6-bit scales and minimums of Q4_K and Q5_K: bytes 0 .. 3 and 8 .. 11 are the scales, the
// others the minimums.
STRATA_AVX2 STRATA_INLINE __m128i SixBitScales(const uint8_t* packed) {
  const auto low = Load<uint64_t>(packed);  // Four scales, four minimums.
  const auto high = Load<uint32_t>(packed + 8);
  const uint64_t nibbles = high | static_cast<uint64_t>(high >> 4) << 32;
  const uint64_t first_four = low & 0x3f3f3f3f3f3f3f3f;
  const uint64_t last_four = (nibbles & 0x0f0f0f0f0f0f0f0f) | (low >> 2 & 0x3030303030303030);
  return _mm_set_epi64x(static_cast<int64_t>(last_four), static_cast<int64_t>(first_four));
}

// The 16 scales of Q3_K, as int16.
STRATA_AVX2 STRATA_INLINE __m256i SignedSixBitScales(const uint8_t* packed) {
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

// The 8 scales of IQ4_XS, as int16, twice.
STRATA_AVX2 STRATA_INLINE __m256i ScalesOfIq4xs(const uint8_t* block) {
  const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  const __m256i crumbs = _mm256_set1_epi32(Load<uint16_t>(block + 2));
  const __m256i nibbles = _mm256_set1_epi32(Load<int32_t>(block + 4));
  const __m256i upper = _mm256_and_si256(_mm256_srlv_epi32(crumbs, _mm256_slli_epi32(lanes, 1)),
                                         _mm256_set1_epi32(3));
  const __m256i lower = _mm256_and_si256(_mm256_srlv_epi32(nibbles, _mm256_slli_epi32(lanes, 2)),
                                         _mm256_set1_epi32(15));
  return NarrowTwice(
      _mm256_sub_epi32(_mm256_or_si256(lower, _mm256_slli_epi32(upper, 4)), _mm256_set1_epi32(32)));
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_PACKED_SCALES_H_
