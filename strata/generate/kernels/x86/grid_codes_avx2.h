// How the grid types become codes in AVX2 registers: the AVX2 side of grid_codes_avx512.h.
#ifndef STRATA_GENERATE_KERNELS_X86_GRID_CODES_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_GRID_CODES_AVX2_H_

#include <cstdint>

#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/codes_avx2.h"
#include "strata/generate/kernels/x86/formats_256.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/sign_codes.h"
#include "strata/generate/kernels/x86/type_list.h"

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

struct IQ2_XS : IQ2_XS_Format {
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
  }
};

struct IQ2_S : IQ2_S_Format {
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
  }
};

struct IQ2_XXS : IQ2_XXS_Format {
  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const uint8_t* record = block + 2 + 8 * k;
      out.codes[k] = RowsOf8(kGridIq2xxs[record[0]], kGridIq2xxs[record[1]], kGridIq2xxs[record[2]],
                             kGridIq2xxs[record[3]]);
      out.signs[k] =
          SignsOfBits(static_cast<uint32_t>(SignsOfWords(Load<uint32_t>(record + 4), 0)));
    }
    out.factors = OddFactorsOfWords(OddWords(block + 2));
  }
};

struct IQ3_XXS : IQ3_XXS_Format {
  STRATA_AVX2 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const uint8_t* rows = block + 2 + 8 * k;
      out.codes[k] = RowsOf4(kGridIq3xxs, [rows](int i) { return int{rows[i]}; });
      out.signs[k] =
          SignsOfBits(static_cast<uint32_t>(SignsOfWords(Load<uint32_t>(block + 66 + 4 * k), 0)));
    }
    out.factors = OddFactorsOfWords(Load256(block + 66));
  }
};

struct IQ3_S : IQ3_S_Format {
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
  }
};

using GridTypes = TypeList<IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S>;

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_GRID_CODES_AVX2_H_
