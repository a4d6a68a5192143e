// Panels of types that meet activations in blocks of 32, and of any type by its scalar unpacker.
#include <algorithm>
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/kernels/x86/codes_32_avx512.h"
#include "strata/generate/kernels/x86/panel_avx512.h"
#include "strata/generate/kernels/x86/panel_rows_avx512.h"
#include "strata/generate/kernels/x86/type_list.h"
#include "strata/generate/kernels/x86/unpack_rows.h"

namespace strata::x86::avx512 {
namespace {

constexpr int kRows = Panel::kRows;

template <typename Type>
struct Stage {
  STRATA_AVX512 static void Run(const uint8_t* const (&rows)[kRows], int64_t begin, int num_columns,
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
};

STRATA_AVX512 void TransposeAll(const IntegerFormat& format, const PanelRows& rows, Panel& panel) {
  TransposeCodes(rows, panel);
  if (!format.has_factors()) return;
  TransposeFactors(rows, panel);
  if (format.has_mins) TransposeMins(rows, panel);
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

}  // namespace strata::x86::avx512
