// The way from rows to the panel: 16 rows are first decoded beside each other, then transposed.
#ifndef STRATA_GENERATE_KERNELS_X86_PANEL_ROWS_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_PANEL_ROWS_AVX2_H_

#include <cstdint>

#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/kernels/x86/codes_avx2.h"
#include "strata/generate/kernels/x86/packed_scales.h"
#include "strata/generate/kernels/x86/panel_avx2.h"

namespace strata::x86::avx2 {

struct alignas(64) PanelRows {
  int16_t weights[Panel::kRows][Panel::kColumns];
  int16_t mins[Panel::kRows][16];

  void PlaceWeights(const IntegerFormat& format, const IntegerBlock& block, int row, int column) {
    for (int i = 0; i < format.integer_weights; ++i) {
      const int factor = format.has_factors() ? block.factors[i / kWeightsPerFactor] : 1;
      weights[row][column + i] = static_cast<int16_t>(factor * block.weights[i]);
    }
  }
};

// 32 bits of each of 16 rows from each 4 bytes of the first `num_bytes` of the rows.
STRATA_AVX2 STRATA_INLINE void TransposeRows(const int16_t* rows, int row_stride, int num_bytes,
                                             int16_t (*out)[Panel::kRows][2]) {
  for (int half = 0; half < 2; ++half) {
    for (int j = 0; j < num_bytes / 16; ++j) {
      __m256i lanes[4];  // lanes[i]: rows i and 4 + i.
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const int16_t* row = rows + (8 * half + i) * row_stride + 8 * j;
        lanes[i] = _mm256_set_m128i(Load128(row + 4 * row_stride), Load128(row));
      }
      const __m256i low_01 = _mm256_unpacklo_epi32(lanes[0], lanes[1]);
      const __m256i high_01 = _mm256_unpackhi_epi32(lanes[0], lanes[1]);
      const __m256i low_23 = _mm256_unpacklo_epi32(lanes[2], lanes[3]);
      const __m256i high_23 = _mm256_unpackhi_epi32(lanes[2], lanes[3]);
      const __m256i columns[4] = {
          _mm256_unpacklo_epi64(low_01, low_23), _mm256_unpackhi_epi64(low_01, low_23),
          _mm256_unpacklo_epi64(high_01, high_23), _mm256_unpackhi_epi64(high_01, high_23)};
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(out[4 * j + i][8 * half]), columns[i]);
      }
    }
  }
}

STRATA_AVX2 STRATA_INLINE void TransposeWeights(const PanelRows& rows, Panel& panel) {
  TransposeRows(rows.weights[0], Panel::kColumns, sizeof(rows.weights[0]), panel.weights);
}
STRATA_AVX2 STRATA_INLINE void TransposeMins(const PanelRows& rows, Panel& panel) {
  TransposeRows(rows.mins[0], 16, sizeof(rows.mins[0]), panel.mins);
}

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_PANEL_ROWS_AVX2_H_
