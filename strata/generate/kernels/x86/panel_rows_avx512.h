// The way from rows to the panel: 16 rows are first decoded beside each other, then transposed.
#ifndef STRATA_GENERATE_KERNELS_X86_PANEL_ROWS_AVX512_H_
#define STRATA_GENERATE_KERNELS_X86_PANEL_ROWS_AVX512_H_

#include <algorithm>
#include <cstdint>

#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/kernels/x86/codes_avx512.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/panel_avx512.h"

namespace strata::x86::avx512 {

struct alignas(64) PanelRows {
  uint8_t codes[Panel::kRows][Panel::kColumns];
  int16_t factors[Panel::kRows][16];
  int16_t mins[Panel::kRows][16];

  void PlaceWeights(const IntegerFormat& format, const IntegerBlock& block, int row, int column) {
    for (int i = 0; i < format.integer_weights; ++i) {
      codes[row][column + i] = static_cast<uint8_t>(block.weights[i] + 128);
    }
    if (format.has_factors()) std::copy_n(block.factors, 16, factors[row]);
  }
};

// out[4j .. 4j + 3] from bytes 16j .. 16j + 15 of each row: a register of 32 bits of each row.
STRATA_AVX512 STRATA_INLINE void TransposePiece(const uint8_t* rows, int row_stride, int j,
                                                __m512i (&out)[4]) {
  __m512i lanes[4];  // lanes[i]: rows i, 4 + i, 8 + i, 12 + i.
  for (int i = 0; i < 4; ++i) {
    const uint8_t* row = rows + i * row_stride + 16 * j;
    __m512i lane = _mm512_castsi128_si512(Load128(row));
    lane = _mm512_inserti32x4(lane, Load128(row + 4 * row_stride), 1);
    lane = _mm512_inserti32x4(lane, Load128(row + 8 * row_stride), 2);
    lanes[i] = _mm512_inserti32x4(lane, Load128(row + 12 * row_stride), 3);
  }
  const __m512i low_01 = _mm512_unpacklo_epi32(lanes[0], lanes[1]);
  const __m512i high_01 = _mm512_unpackhi_epi32(lanes[0], lanes[1]);
  const __m512i low_23 = _mm512_unpacklo_epi32(lanes[2], lanes[3]);
  const __m512i high_23 = _mm512_unpackhi_epi32(lanes[2], lanes[3]);
  out[0] = _mm512_unpacklo_epi64(low_01, low_23);
  out[1] = _mm512_unpackhi_epi64(low_01, low_23);
  out[2] = _mm512_unpacklo_epi64(high_01, high_23);
  out[3] = _mm512_unpackhi_epi64(high_01, high_23);
}

STRATA_AVX512 STRATA_INLINE void TransposeCodes(const PanelRows& rows, Panel& panel) {
  for (int j = 0; j < Panel::kColumns / 16; ++j) {
    __m512i quads[4];
    TransposePiece(rows.codes[0], sizeof(rows.codes[0]), j, quads);
    for (int i = 0; i < 4; ++i) _mm512_store_si512(panel.codes[4 * j + i], quads[i]);
  }
}

STRATA_AVX512 STRATA_INLINE void TransposeFactors(const PanelRows& rows, Panel& panel) {
  for (int j = 0; j < 2; ++j) {
    __m512i pairs[4];
    TransposePiece(reinterpret_cast<const uint8_t*>(rows.factors[0]), sizeof(rows.factors[0]), j,
                   pairs);
    for (int i = 0; i < 4; ++i) {
      const __m512i even = _mm512_srai_epi32(_mm512_slli_epi32(pairs[i], 16), 16);
      _mm512_store_si512(panel.factors[8 * j + 2 * i], even);
      _mm512_store_si512(panel.factors[8 * j + 2 * i + 1], _mm512_srai_epi32(pairs[i], 16));
    }
  }
}

STRATA_AVX512 STRATA_INLINE void TransposeMins(const PanelRows& rows, Panel& panel) {
  for (int j = 0; j < 2; ++j) {
    __m512i pairs[4];
    TransposePiece(reinterpret_cast<const uint8_t*>(rows.mins[0]), sizeof(rows.mins[0]), j, pairs);
    for (int i = 0; i < 4; ++i) _mm512_store_si512(panel.mins[4 * j + i], pairs[i]);
  }
}

}  // namespace strata::x86::avx512

#endif  // STRATA_GENERATE_KERNELS_X86_PANEL_ROWS_AVX512_H_
