// How the grid types become codes in AVX-512 registers: structs of the shape of k_codes_avx512.h.
// The layouts are explained beside the scalar unpackers (strata/generate/blocks/
// unpack_grids.cc).
#ifndef STRATA_GENERATE_KERNELS_X86_GRID_CODES_AVX512_H_
#define STRATA_GENERATE_KERNELS_X86_GRID_CODES_AVX512_H_

#include <cstdint>

#include "strata/generate/blocks/block_tables.h"
#include "strata/generate/blocks/packed_bytes.h"
#include "strata/generate/kernels/x86/codes_avx512.h"
#include "strata/generate/kernels/x86/formats_256.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/sign_codes.h"
#include "strata/generate/kernels/x86/type_list.h"

namespace strata::x86::avx512 {

// 64 weights: eight rows of eight, or sixteen of four.
STRATA_AVX512 STRATA_INLINE __m512i RowsOf8(const uint8_t (*grid)[8], __m512i rows) {
  return _mm512_i64gather_epi64(rows, grid, 8);
}
STRATA_AVX512 STRATA_INLINE __m512i RowsOf4(const uint8_t (*grid)[4], __m512i rows) {
  return _mm512_i32gather_epi32(rows, grid, 4);
}

struct IQ2_XS : IQ2_XS_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    for (int k = 0; k < 4; ++k) {
      const __m128i codes = Load128(block + 2 + 16 * k);
      const __m128i rows = _mm_and_si128(codes, _mm_set1_epi16(511));
      const __m128i signs = _mm_cvtepi16_epi8(_mm_srli_epi16(codes, 9));
      out.codes[k] = RowsOf8(kGridIq2xs, _mm512_cvtepu16_epi64(rows));
      out.negative[k] = WithEighthSigns(static_cast<uint64_t>(_mm_cvtsi128_si64(signs)));
    }
    out.factors = OddFactors(Load64(block + 66));
    SpreadFactors16(out);
  }
};

struct IQ2_S : IQ2_S_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    const __m512i shifts = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
    for (int k = 0; k < 4; ++k) {
      const __m512i low = _mm512_cvtepu8_epi64(Load64(block + 2 + 8 * k));
      const __m512i crumbs = _mm512_set1_epi64(Load<uint16_t>(block + 66 + 2 * k));
      const __m512i upper =
          _mm512_and_si512(_mm512_srlv_epi64(crumbs, shifts), _mm512_set1_epi64(3));
      out.codes[k] = RowsOf8(kGridIq2s, _mm512_or_si512(low, _mm512_slli_epi64(upper, 8)));
      out.negative[k] = Load<uint64_t>(block + 34 + 8 * k);
    }
    out.factors = OddFactors(Load64(block + 74));
    SpreadFactors16(out);
  }
};

struct IQ2_XXS : IQ2_XXS_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    for (int k = 0; k < 4; ++k) {
      const uint8_t* records = block + 2 + 16 * k;
      const uint64_t rows = Load<uint32_t>(records) | Load<uint64_t>(records + 8) << 32;
      out.codes[k] =
          RowsOf8(kGridIq2xxs, _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<int64_t>(rows))));
      out.negative[k] = SignsOfWords(Load<uint32_t>(records + 4), Load<uint32_t>(records + 12));
    }
    SpreadFactors32<4>(OddFactorsOfWords(OddWords(block + 2)), out);
  }
};

struct IQ3_XXS : IQ3_XXS_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    for (int k = 0; k < 4; ++k) {
      const uint8_t* words = block + 66 + 8 * k;
      out.codes[k] = RowsOf4(kGridIq3xxs, _mm512_cvtepu8_epi32(Load128(block + 2 + 16 * k)));
      out.negative[k] = SignsOfWords(Load<uint32_t>(words), Load<uint32_t>(words + 4));
    }
    SpreadFactors32<4>(OddFactorsOfWords(Load256(block + 66)), out);
  }
};

struct IQ3_S : IQ3_S_Format {
  STRATA_AVX512 static STRATA_INLINE void Decode(const uint8_t* block, Codes256& out) {
    for (int k = 0; k < 4; ++k) {
      const __m512i low = _mm512_cvtepu8_epi32(Load128(block + 2 + 16 * k));
      const __mmask16 upper = Load<uint16_t>(block + 66 + 2 * k);
      const __m512i rows = _mm512_mask_add_epi32(low, upper, low, _mm512_set1_epi32(256));
      out.codes[k] = RowsOf4(kGridIq3s, rows);
      out.negative[k] = Load<uint64_t>(block + 74 + 8 * k);
    }
    const __m128i scales = _mm_cvtsi32_si128(Load<int32_t>(block + 106));
    SpreadFactors32<4>(OddFactors(scales), out);
  }
};

using GridTypes = TypeList<IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S>;

}  // namespace strata::x86::avx512

#endif  // STRATA_GENERATE_KERNELS_X86_GRID_CODES_AVX512_H_
