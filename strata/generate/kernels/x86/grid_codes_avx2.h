// How the grid types become codes in AVX2 registers: the AVX2 side of grid_codes_avx512.h.
#ifndef STRATA_GENERATE_KERNELS_X86_GRID_CODES_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_GRID_CODES_AVX2_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/blocks/block_tables.h"
#include "strata/generate/kernels/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/codes_avx2.h"
#include "strata/generate/kernels/x86/sign_codes.h"

namespace strata::x86::avx2 {

// 32 weights: four rows of eight, or eight of four.
STRATA_AVX2 STRATA_INLINE __m256i RowsOf8(const uint8_t* a, const uint8_t* b, const uint8_t* c,
                                          const uint8_t* d) {
  return _mm256_setr_epi64x(Load<int64_t>(a), Load<int64_t>(b), Load<int64_t>(c), Load<int64_t>(d));
}

// `index` gives the row of each of eight.
template <typename Index>
STRATA_AVX2 STRATA_INLINE __m256i RowsOf4(const uint8_t (*grid)[4], Index index) {
  const auto row = [ grid, index ](int i) __attribute__((always_inline)) {
    return Load<int32_t>(grid[index(i)]);
  };
  return _mm256_setr_epi32(row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7));
}

// 2t + 1 for the 16 paired nibbles t of 8 bytes.
STRATA_AVX2 STRATA_INLINE __m256i OddFactors(__m128i bytes) {
  const __m256i steps = _mm256_cvtepu8_epi16(PairedNibbles(bytes));
  return _mm256_add_epi16(_mm256_add_epi16(steps, steps), _mm256_set1_epi16(1));
}

// 2t + 1 for the top four bits t of eight words, twice.
STRATA_AVX2 STRATA_INLINE __m256i OddFactorsOfWords(__m256i words) {
  const __m256i steps = _mm256_srli_epi32(words, 28);
  const __m256i factors = _mm256_add_epi32(_mm256_add_epi32(steps, steps), _mm256_set1_epi32(1));
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(factors, factors), 0x88);
}

struct IQ2_XS {
  static constexpr int kBlockBytes = 74;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = true;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 16;
  static constexpr float kStep = 0.125f;

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const auto codes = Load<uint64_t>(block + 2 + 8 * k);
      out.codes[k] = RowsOf8(kGridIq2xs[codes & 511], kGridIq2xs[codes >> 16 & 511],
                             kGridIq2xs[codes >> 32 & 511], kGridIq2xs[codes >> 48 & 511]);
      const uint32_t signs = kSignsIq2xs[codes >> 9 & 127] | kSignsIq2xs[codes >> 25 & 127] << 8 |
                             kSignsIq2xs[codes >> 41 & 127] << 16 |
                             static_cast<uint32_t>(kSignsIq2xs[codes >> 57]) << 24;
      out.signs[k] = SignsOfBits(signs);
    }
    out.factors = OddFactors(Load64(block + 66));
    out.scale = Load<uint16_t>(block);
  }
};

struct IQ2_S : IQ2_XS {
  static constexpr int kBlockBytes = 82;

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const uint8_t* low = block + 2 + 4 * k;
      const int upper = block[66 + k];
      out.codes[k] = RowsOf8(
          kGridIq2s[low[0] | (upper << 8 & 0x300)], kGridIq2s[low[1] | (upper << 6 & 0x300)],
          kGridIq2s[low[2] | (upper << 4 & 0x300)], kGridIq2s[low[3] | (upper << 2 & 0x300)]);
      out.signs[k] = SignsOfBits(Load<uint32_t>(block + 34 + 4 * k));
    }
    out.factors = OddFactors(Load64(block + 74));
    out.scale = Load<uint16_t>(block);
  }
};

struct IQ2_XXS {
  static constexpr int kBlockBytes = 66;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = true;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 32;
  static constexpr float kStep = 0.125f;

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const uint8_t* record = block + 2 + 8 * k;
      out.codes[k] = RowsOf8(kGridIq2xxs[record[0]], kGridIq2xxs[record[1]], kGridIq2xxs[record[2]],
                             kGridIq2xxs[record[3]]);
      out.signs[k] =
          SignsOfBits(static_cast<uint32_t>(SignsOfWords(Load<uint32_t>(record + 4), 0)));
    }
    // The second word of each record.
    const __m256 words = _mm256_shuffle_ps(_mm256_castsi256_ps(Load256(block + 2)),
                                           _mm256_castsi256_ps(Load256(block + 34)), 0xdd);
    out.factors = OddFactorsOfWords(_mm256_permute4x64_epi64(_mm256_castps_si256(words), 0xd8));
    out.scale = Load<uint16_t>(block);
  }
};

struct IQ3_XXS {
  static constexpr int kBlockBytes = 98;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = true;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 32;
  static constexpr float kStep = 0.25f;

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const uint8_t* rows = block + 2 + 8 * k;
      out.codes[k] = RowsOf4(kGridIq3xxs, [rows](int i) { return int{rows[i]}; });
      out.signs[k] =
          SignsOfBits(static_cast<uint32_t>(SignsOfWords(Load<uint32_t>(block + 66 + 4 * k), 0)));
    }
    out.factors = OddFactorsOfWords(Load256(block + 66));
    out.scale = Load<uint16_t>(block);
  }
};

struct IQ3_S {
  static constexpr int kBlockBytes = 110;
  static constexpr int kOffset = 0;
  static constexpr bool kHasSigns = true;
  static constexpr bool kHasMins = false;
  static constexpr int kFactorWeights = 32;
  static constexpr float kStep = 1.0f;

  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const uint8_t* rows = block + 2 + 8 * k;
      const int upper = block[66 + k];
      out.codes[k] =
          RowsOf4(kGridIq3s, [rows, upper](int i) { return rows[i] | (upper << (8 - i) & 0x100); });
      out.signs[k] = SignsOfBits(Load<uint32_t>(block + 74 + 4 * k));
    }
    const __m256i factors = OddFactors(_mm_cvtsi32_si128(Load<int32_t>(block + 106)));
    out.factors = _mm256_permute2x128_si256(factors, factors, 0);
    out.scale = Load<uint16_t>(block);
  }
};

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_GRID_CODES_AVX2_H_
