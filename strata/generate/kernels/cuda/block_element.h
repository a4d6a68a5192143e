// One weight of a row in blocks of any type, for host and device: what decode.h gives, bit for bit,
// where a whole row at once is not wanted. Scales are taken apart for every weight anew: it is
// meant for a few rows, not for products.
#ifndef STRATA_GENERATE_KERNELS_CUDA_BLOCK_ELEMENT_H_
#define STRATA_GENERATE_KERNELS_CUDA_BLOCK_ELEMENT_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/block_codes.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// A type that has weights, and its block.
struct ElementFormat {
  BlockType type = BlockType::kF32;
  int block_weights = 1;
  int block_bytes = 4;
};

// Fills `weight` in from the block for weight i of it. False for types that are not in blocks of
// codes.
STRATA_NUMERIC bool LoadCode(const BlockTables& tables, BlockType type, const uint8_t* block, int i,
                             BlockCode& weight) {
  switch (type) {
    case BlockType::kQ4_0:
      return CodeOfQ4(block + 2, LoadHalf(block), i, -8, weight);
    case BlockType::kQ4_1:
      return CodeOfQ4(block + 4, LoadHalf(block), i, 0, weight) && WithMin(block + 2, weight);
    case BlockType::kQ5_0:
      return CodeOfQ5(block + 2, block + 6, LoadHalf(block), i, -16, weight);
    case BlockType::kQ5_1:
      return CodeOfQ5(block + 4, block + 8, LoadHalf(block), i, 0, weight) &&
             WithMin(block + 2, weight);
    case BlockType::kQ8_0:
      return PlainCode(LoadHalf(block), static_cast<int8_t>(block[2 + i]), weight);
    case BlockType::kQ1_0:
      return PlainCode(LoadHalf(block), BitOf(block + 2, i) != 0 ? 1 : -1, weight);
    case BlockType::kQ2_0:
      return PlainCode(LoadHalf(block), (block[2 + i / 4] >> 2 * (i % 4) & 3) - 1, weight);
    case BlockType::kIQ4_NL:
      return PlainCode(LoadHalf(block), tables.values_iq4nl[SplitNibbleOf(block + 2, 16, i)],
                       weight);
    case BlockType::kMXFP4:
      return PlainCode(PowerOfTwoOf(block[0]), tables.values_mxfp4[SplitNibbleOf(block + 1, 16, i)],
                       weight);
    case BlockType::kNVFP4:
      return PlainCode(f32::Mul(FloatOfUe4m3(block[i / 16]), 0.5f),
                       tables.values_mxfp4[SplitNibbleOf(block + 4 + i / 16 * 8, 8, i % 16)],
                       weight);
    case BlockType::kQ2_K:
      return CodeOfQ2K(block, i, weight);
    case BlockType::kQ3_K:
      return CodeOfQ3K(block, i, weight);
    case BlockType::kQ4_K:
      return CodeOfQ45K(block, block + 16, nullptr, i, weight);
    case BlockType::kQ5_K:
      return CodeOfQ45K(block, block + 48, block + 16, i, weight);
    case BlockType::kQ6_K:
      return CodeOfQ6K(block, i, weight);
    case BlockType::kIQ4_XS:
      return CodeOfIq4Xs(tables, block, i, weight);
    case BlockType::kIQ2_XXS:
      return CodeOfIq2Xxs(tables, block, i, weight);
    case BlockType::kIQ2_XS:
      return CodeOfIq2Xs(tables, block, i, weight);
    case BlockType::kIQ2_S:
      return CodeOfIq2S(tables, block, i, weight);
    case BlockType::kIQ3_XXS:
      return CodeOfIq3Xxs(tables, block, i, weight);
    case BlockType::kIQ3_S:
      return CodeOfIq3S(tables, block, i, weight);
    case BlockType::kIQ1_S:
      return CodeOfIq1S(tables, block, i, weight);
    case BlockType::kIQ1_M:
      return CodeOfIq1M(tables, block, i, weight);
    case BlockType::kTQ1_0:
      return PlainCode(LoadHalf(block + 52), TernaryDigit(block, i), weight);
    case BlockType::kTQ2_0:
      return PlainCode(LoadHalf(block + 64), CrumbOf(block, i) - 1, weight);
    default:
      return false;
  }
}

// Weight i of a row that begins at `row`, at any alignment. 0 for a type that has no weights.
STRATA_NUMERIC float DecodeElement(const BlockTables& tables, const ElementFormat& format,
                                   const uint8_t* row, int64_t i) {
  const uint8_t* const block = row + i / format.block_weights * format.block_bytes;
  if (format.type == BlockType::kF32) return f32::FromBits(LoadWord(block));
  if (format.type == BlockType::kF16) return LoadHalf(block);
  if (format.type == BlockType::kBF16) return f32::FromBf16(LoadShort(block));
  BlockCode weight;
  if (!LoadCode(tables, format.type, block, static_cast<int>(i % format.block_weights), weight)) {
    return 0.0f;
  }
  const float value = f32::Mul(weight.scale, f32::FromInt(weight.code));
  if (!weight.has_min) return value;
  return f32::Add(value, f32::Mul(weight.min_scale, f32::FromInt(weight.min)));
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_BLOCK_ELEMENT_H_
