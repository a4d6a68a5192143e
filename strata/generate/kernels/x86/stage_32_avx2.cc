// Panels of types that meet activations in blocks of 32, and of any type by its scalar unpacker.
#include <algorithm>
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/kernels/x86/codes_32_avx2.h"
#include "strata/generate/kernels/x86/panel_avx2.h"
#include "strata/generate/kernels/x86/panel_rows_avx2.h"
#include "strata/generate/kernels/x86/type_list.h"
#include "strata/generate/kernels/x86/unpack_rows.h"

namespace strata::x86::avx2 {
namespace {

constexpr int kRows = Panel::kRows;

template <typename Type>
struct Stage {
  STRATA_AVX2 static void Run(const uint8_t* const (&rows)[kRows], int64_t begin, int num_columns,
                              Panel& panel) {
    PanelRows staged;
    const int64_t first_block = begin / 32;
    const int num_blocks = num_columns / 32;
    for (int row = 0; row < kRows; ++row) {
      for (int b = 0; b < num_blocks; ++b) {
        const __m256i weights = _mm256_sub_epi8(Type::Codes(rows[row], first_block + b),
                                                _mm256_set1_epi8(Type::kOffset));
        auto* to = reinterpret_cast<__m256i*>(staged.weights[row] + 32 * b);
        _mm256_store_si256(to, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(weights)));
        _mm256_store_si256(to + 1, _mm256_cvtepi8_epi16(_mm256_extracti128_si256(weights, 1)));
      }
    }
    TransposeWeights(staged, panel);
    for (int i = 0; i < kRows; i += 8) {
      const uint8_t* eight[8];
      std::copy_n(rows + i, 8, eight);
      for (int b = 0; b < num_blocks; ++b) {
        _mm256_store_ps(panel.scales[b] + i, Type::Scales(eight, first_block + b));
        if constexpr (Type::kHasMins) {
          _mm256_store_ps(panel.min_scales[b] + i, Type::MinScales(eight, first_block + b));
        }
      }
    }
  }
};

STRATA_AVX2 void TransposeAll(const IntegerFormat& format, const PanelRows& rows, Panel& panel) {
  TransposeWeights(rows, panel);
  if (format.has_factors() && format.has_mins) TransposeMins(rows, panel);
}

}  // namespace

StagePanel FindStage32(BlockType type) { return FindKernel<StagePanel, Stage>(type, Types32()); }

void StageAny(BlockType type, const uint8_t* const (&rows)[kRows], int64_t begin, int num_columns,
              Panel& panel) {
  const IntegerFormat& format = *FindIntegerFormat(type);
  PanelRows staged;
  UnpackRows(format, rows, begin, num_columns, staged, panel);
  TransposeAll(format, staged, panel);
}

}  // namespace strata::x86::avx2
