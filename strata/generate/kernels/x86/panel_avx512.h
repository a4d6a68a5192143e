// 256 columns of 16 rows of weights in the order in which AVX-512 multiplies them with many
// vectors: a lane is a row, and four neighbouring columns of a row share the 32 bits of a lane.
#ifndef STRATA_GENERATE_KERNELS_X86_PANEL_AVX512_H_
#define STRATA_GENERATE_KERNELS_X86_PANEL_AVX512_H_

#include <cstdint>

#include "strata/core/block_type.h"

namespace strata::x86::avx512 {

struct alignas(64) Panel {
  static constexpr int kRows = 16;
  static constexpr int kColumns = 256;

  uint8_t codes[kColumns / 4][kRows][4];  // The int8 weight + 128.
  int32_t factors[16][kRows];             // Of each 16 columns, where a block is 256.
  int16_t mins[8][kRows][2];              // Of each 16 columns, in pairs; likewise.
  float scales[16][kRows];                // Of each block.
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

}  // namespace strata::x86::avx512

#endif  // STRATA_GENERATE_KERNELS_X86_PANEL_AVX512_H_
