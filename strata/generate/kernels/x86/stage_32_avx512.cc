// Panels of types that meet activations in blocks of 32, and of any type by its scalar unpacker.
#include <algorithm>
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/blocks/integer_block.h"
#include "strata/generate/kernels/x86/codes_32_avx512.h"
#include "strata/generate/kernels/x86/panel_avx512.h"
#include "strata/generate/kernels/x86/panel_rows_avx512.h"

namespace strata::x86::avx512 {
namespace {

constexpr int kRows = Panel::kRows;

template <typename Type>
STRATA_AVX512 void Stage(const uint8_t* const (&rows)[kRows], int64_t begin, int num_columns,
                         Panel& panel) {
  PanelRows staged;
  const int64_t first_block = begin / 32;
  const int num_blocks = num_columns / 32;
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(128 - Type::kOffset));
  for (int row = 0; row < kRows; ++row) {
    for (int b = 0; b < num_blocks; b += 2) {
      const __m512i codes =
          Type::Codes(rows[row], first_block + b, first_block + std::min(b + 1, num_blocks - 1));
      _mm512_store_si512(staged.codes[row] + 32 * b, _mm512_add_epi8(codes, shift));
    }
  }
  TransposeCodes(staged, panel);
  for (int b = 0; b < num_blocks; ++b) {
    _mm512_store_ps(panel.scales[b], Type::Scales(rows, first_block + b));
    if constexpr (Type::kHasMins) {
      _mm512_store_ps(panel.min_scales[b], Type::MinScales(rows, first_block + b));
    }
  }
}

void StageBlock(const IntegerFormat& format, const IntegerBlock& block, int row, int column,
                PanelRows& out, Panel& panel) {
  const int n = format.integer_weights;
  for (int i = 0; i < n; ++i) {
    out.codes[row][column + i] = static_cast<uint8_t>(block.weights[i] + 128);
  }
  panel.scales[column / n][row] = block.scale;
  if (format.has_mins) panel.min_scales[column / n][row] = block.min_scale;
  if (!format.has_factors()) return;
  std::copy_n(block.factors, 16, out.factors[row]);
  if (format.has_mins) std::copy_n(block.mins, 16, out.mins[row]);
}

STRATA_AVX512 void TransposeAll(const IntegerFormat& format, const PanelRows& rows, Panel& panel) {
  TransposeCodes(rows, panel);
  if (!format.has_factors()) return;
  TransposeFactors(rows, panel);
  if (format.has_mins) TransposeMins(rows, panel);
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

}  // namespace strata::x86::avx512
