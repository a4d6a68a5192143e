// Panels of types that meet activations in blocks of 32, and of any type by its scalar unpacker.
#include <algorithm>
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/blocks/integer_block.h"
#include "strata/generate/kernels/x86/codes_32_avx2.h"
#include "strata/generate/kernels/x86/panel_avx2.h"
#include "strata/generate/kernels/x86/panel_rows_avx2.h"

namespace strata::x86::avx2 {
namespace {

constexpr int kRows = Panel::kRows;

template <typename Type>
STRATA_AVX2 void Stage(const uint8_t* const (&rows)[kRows], int64_t begin, int num_columns,
                       Panel& panel) {
  PanelRows staged;
  const int64_t first_block = begin / 32;
  const int num_blocks = num_columns / 32;
  for (int row = 0; row < kRows; ++row) {
    for (int b = 0; b < num_blocks; ++b) {
      const __m256i weights =
          _mm256_sub_epi8(Type::Codes(rows[row], first_block + b), _mm256_set1_epi8(Type::kOffset));
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

void StageBlock(const IntegerFormat& format, const IntegerBlock& block, int row, int column,
                PanelRows& out, Panel& panel) {
  const int n = format.integer_weights;
  for (int i = 0; i < n; ++i) {
    const int factor = format.has_factors() ? block.factors[i / kWeightsPerFactor] : 1;
    out.weights[row][column + i] = static_cast<int16_t>(factor * block.weights[i]);
  }
  panel.scales[column / n][row] = block.scale;
  if (!format.has_mins) return;
  panel.min_scales[column / n][row] = block.min_scale;
  if (format.has_factors()) std::copy_n(block.mins, 16, out.mins[row]);
}

STRATA_AVX2 void TransposeAll(const IntegerFormat& format, const PanelRows& rows, Panel& panel) {
  TransposeWeights(rows, panel);
  if (format.has_factors() && format.has_mins) TransposeMins(rows, panel);
}

}  // namespace

StagePanel FindStage32(BlockType type) {
  switch (type) {
    case BlockType::kQ4_0:
      return Stage<Q4_0>;
    case BlockType::kQ4_1:
      return Stage<Q4_1>;
    case BlockType::kQ5_0:
      return Stage<Q5_0>;
    case BlockType::kQ5_1:
      return Stage<Q5_1>;
    case BlockType::kQ8_0:
      return Stage<Q8_0>;
    case BlockType::kIQ4_NL:
      return Stage<IQ4_NL>;
    case BlockType::kMXFP4:
      return Stage<MXFP4>;
    case BlockType::kQ2_0:
      return Stage<Q2_0>;
    case BlockType::kQ1_0:
      return Stage<Q1_0>;
    default:
      return nullptr;
  }
}

void StageAny(BlockType type, const uint8_t* const (&rows)[kRows], int64_t begin, int num_columns,
              Panel& panel) {
  const IntegerFormat& format = *FindIntegerFormat(type);
  const BlockTypeInfo& info = InfoOf(type);
  PanelRows staged;
  IntegerBlock block;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < num_columns; column += format.integer_weights) {
      const int64_t at = begin + column;
      format.unpack(rows[row] + at / info.block_weights * info.block_bytes,
                    static_cast<int>(at % info.block_weights) / format.integer_weights, block);
      StageBlock(format, block, row, column, staged, panel);
    }
  }
  TransposeAll(format, staged, panel);
}

}  // namespace strata::x86::avx2
