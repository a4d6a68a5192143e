// Rows of any quantized type, decoded beside each other by the scalar unpacker of the type.
#ifndef STRATA_GENERATE_KERNELS_X86_UNPACK_ROWS_H_
#define STRATA_GENERATE_KERNELS_X86_UNPACK_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/blocks/integer_block.h"

namespace strata::x86 {

// Stages the weights and what goes with them in `staged`, whose PlaceWeights(format, block, row,
// column) takes a block; the scales go to `panel`. The rest as the stages of panel_avx*.h.
template <typename Panel, typename PanelRows>
void UnpackRows(const IntegerFormat& format, const uint8_t* const (&rows)[Panel::kRows],
                int64_t begin, int num_columns, PanelRows& staged, Panel& panel) {
  const BlockTypeInfo& info = InfoOf(format.type);
  const int n = format.integer_weights;
  IntegerBlock block;
  for (int row = 0; row < Panel::kRows; ++row) {
    for (int column = 0; column < num_columns; column += n) {
      const int64_t at = begin + column;
      format.unpack(rows[row] + at / info.block_weights * info.block_bytes,
                    static_cast<int>(at % info.block_weights) / n, block);
      staged.PlaceWeights(format, block, row, column);
      panel.scales[column / n][row] = block.scale;
      if (!format.has_mins) continue;
      panel.min_scales[column / n][row] = block.min_scale;
      if (format.has_factors()) std::copy_n(block.mins, 16, staged.mins[row]);
    }
  }
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_UNPACK_ROWS_H_
