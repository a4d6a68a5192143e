// 256 columns of 16 rows of weights in the order in which AVX2 multiplies them with many vectors: a
// lane is a row, and two neighbouring columns of a row share the 32 bits of a lane. The factors are
// multiplied into the weights, which are 16 bits wide for that.
#ifndef STRATA_GENERATE_KERNELS_X86_PANEL_AVX2_H_
#define STRATA_GENERATE_KERNELS_X86_PANEL_AVX2_H_

#include <cstdint>

#include "strata/core/block_type.h"

namespace strata::x86::avx2 {

struct alignas(64) Panel {
  static constexpr int kRows = 16;
  static constexpr int kColumns = 256;

  int16_t weights[kColumns / 2][kRows][2];
  int16_t mins[8][kRows][2];  // Of each 16 columns, in pairs, where a block is 256.
  float scales[16][kRows];    // Of each block.
  float min_scales[8][kRows];
};

// Fills the panel from `num_columns` columns (at most 256, whole blocks) of the 16 rows, from
// column `begin` on; what lies behind them is left undefined.
using StagePanel = void (*)(const uint8_t* const (&rows)[Panel::kRows], int64_t begin,
                            int num_columns, Panel& panel);

// Stages of types with kernels of their own; null for others.
StagePanel FindStage256(BlockType type);
StagePanel FindStage32(BlockType type);

// Any quantized type, by its scalar unpacker.
void StageAny(BlockType type, const uint8_t* const (&rows)[Panel::kRows], int64_t begin,
              int num_columns, Panel& panel);

}  // namespace strata::x86::avx2

#endif  // STRATA_GENERATE_KERNELS_X86_PANEL_AVX2_H_
