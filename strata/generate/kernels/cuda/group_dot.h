// The float chain of a group of 256 weights, or of fewer at the end of a row, with up to four
// vectors: numerics, sections 3 and 4. For host and device; a thread of a GPU does a group, and its
// integers stay in registers.
#ifndef STRATA_GENERATE_KERNELS_CUDA_GROUP_DOT_H_
#define STRATA_GENERATE_KERNELS_CUDA_GROUP_DOT_H_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/formats_256_grid.h"
#include "strata/generate/kernels/cuda/formats_256_k.h"
#include "strata/generate/kernels/cuda/formats_32.h"
#include "strata/generate/kernels/cuda/group_bytes.h"
#include "strata/generate/kernels/cuda/packed_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr int kGroupWeights = 256;

enum class WeightKind {
  kNumbers,  // F32, F16, BF16: no groups.
  kBlocks32,
  kBlocks16,  // NVFP4
  kBlocks256,
};

// What the kernels must know of a type at compile time.
struct GroupFormat {
  WeightKind kind;
  int group_bytes;     // Of a whole group; of one number.
  bool needs_sums;     // Of the activations.
  int grid_words = 0;  // Of the type's grid; 0: none.
};

STRATA_NUMERIC constexpr GroupFormat GroupFormatOf(BlockType type) {
  switch (type) {
    case BlockType::kF32:
      return {WeightKind::kNumbers, 4, false};
    case BlockType::kF16:
    case BlockType::kBF16:
      return {WeightKind::kNumbers, 2, false};
    case BlockType::kQ4_0:
      return {WeightKind::kBlocks32, 8 * 18, true};
    case BlockType::kQ4_1:
      return {WeightKind::kBlocks32, 8 * 20, true};
    case BlockType::kQ5_0:
      return {WeightKind::kBlocks32, 8 * 22, true};
    case BlockType::kQ5_1:
      return {WeightKind::kBlocks32, 8 * 24, true};
    case BlockType::kQ8_0:
      return {WeightKind::kBlocks32, 8 * 34, false};
    case BlockType::kIQ4_NL:
      return {WeightKind::kBlocks32, 8 * 18, false};
    case BlockType::kMXFP4:
      return {WeightKind::kBlocks32, 8 * 17, false};
    case BlockType::kNVFP4:
      return {WeightKind::kBlocks16, 4 * 36, false};
    case BlockType::kQ1_0:
      return {WeightKind::kBlocks32, 2 * 18, true};
    case BlockType::kQ2_0:
      return {WeightKind::kBlocks32, 4 * 18, true};
    case BlockType::kQ2_K:
      return {WeightKind::kBlocks256, 84, true};
    case BlockType::kQ3_K:
      return {WeightKind::kBlocks256, 110, true};
    case BlockType::kQ4_K:
      return {WeightKind::kBlocks256, 144, true};
    case BlockType::kQ5_K:
      return {WeightKind::kBlocks256, 176, true};
    case BlockType::kQ6_K:
      return {WeightKind::kBlocks256, 210, true};
    case BlockType::kIQ4_XS:
      return {WeightKind::kBlocks256, 136, false};
    case BlockType::kTQ1_0:
      return {WeightKind::kBlocks256, 54, true};
    case BlockType::kTQ2_0:
      return {WeightKind::kBlocks256, 66, true};
    case BlockType::kIQ2_XXS:
      return {WeightKind::kBlocks256, 66, false, 512};
    case BlockType::kIQ2_XS:
      return {WeightKind::kBlocks256, 74, false, 1024};
    case BlockType::kIQ2_S:
      return {WeightKind::kBlocks256, 82, false, 2048};
    case BlockType::kIQ3_XXS:
      return {WeightKind::kBlocks256, 98, false, 256};
    case BlockType::kIQ3_S:
      return {WeightKind::kBlocks256, 110, false, 512};
    case BlockType::kIQ1_S:
      return {WeightKind::kBlocks256, 50, false, 4096};
    case BlockType::kIQ1_M:
      return {WeightKind::kBlocks256, 56, false, 4096};
    default:
      return {WeightKind::kNumbers, 0, false};
  }
}

STRATA_NUMERIC int32_t DotOfFour(const uint32_t* words, const packed::Words4& q, int32_t sum) {
  STRATA_UNROLL
  for (int i = 0; i < 4; ++i) sum = packed::Dp4a(words[i], q.word[i], sum);
  return sum;
}

// `num_blocks` of 32, at most 8. groups[v] is the chain so far.
template <BlockType kType, int kVectors, typename Bytes>
STRATA_NUMERIC void DotOfBlocks32(const Bytes& bytes, int num_blocks,
                                  const GroupVector (&x)[kVectors], float (&groups)[kVectors]) {
  using Format = Format32<kType>;
  STRATA_UNROLL
  for (int i = 0; i < 8; ++i) {
    if (i >= num_blocks) break;
    Block32 block;
    Format::Unpack(bytes, i, block);
    STRATA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      int32_t dot = DotOfFour(block.word, x[v].Q(2 * i), 0);
      dot = DotOfFour(block.word + 4, x[v].Q(2 * i + 1), dot);
      if constexpr (Format::kOffset != 0) dot -= Format::kOffset * x[v].Sum(i);
      const float da = x[v].Scale(i);
      groups[v] = f32::Fma(f32::Mul(block.scale, da), f32::FromInt(dot), groups[v]);
      if constexpr (Format::kHasMin) {
        groups[v] = f32::Fma(f32::Mul(block.min, da), f32::FromInt(x[v].Sum(i)), groups[v]);
      }
    }
  }
}

// Half of an unsigned float of 4 exponent and 3 fraction bits; the codes of all ones and zeros are
// 0. Exact, so in any way.
STRATA_NUMERIC float HalfOfUe4m3(uint32_t code) {
  const uint32_t exponent = code >> 3 & 15u;
  const uint32_t fraction = code & 7u;
  if (code == 127u) return 0.0f;
  if (exponent == 0) return f32::Mul(f32::FromInt(static_cast<int32_t>(fraction)), 0x1p-10f);
  return f32::FromBits((exponent + 119u) << 23 | fraction << 20);
}

// NVFP4: 64 weights are four blocks of 16 in 36 bytes.
template <int kVectors, typename Bytes>
STRATA_NUMERIC void DotOfBlocks16(const Bytes& bytes, int num_blocks,
                                  const GroupVector (&x)[kVectors], float (&groups)[kVectors]) {
  STRATA_UNROLL
  for (int i = 0; i < 8; ++i) {
    if (i >= num_blocks) break;
    STRATA_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int run = i % 2 * 2 + half;
      const int begin = i / 2 * 36;
      uint32_t words[4];
      STRATA_UNROLL
      for (int j = 0; j < 2; ++j) {
        const packed::TwoWords values = packed::LookUpNibbles(
            Mxfp4Values().word, bytes.Word((begin + 4 + 8 * run + 4 * j) / 4));
        words[j] = values.low;
        words[j + 2] = values.high;
      }
      const float scale = HalfOfUe4m3(bytes.Byte(begin + run));
      STRATA_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const int32_t dot = DotOfFour(words, x[v].Q(2 * i + half), 0);
        groups[v] = f32::Fma(f32::Mul(scale, x[v].Scale(i)), f32::FromInt(dot), groups[v]);
      }
    }
  }
}

template <BlockType kType, int kVectors, typename Bytes>
STRATA_NUMERIC void DotOfBlock256(const Bytes& bytes, const uint32_t* grid,
                                  const GroupVector (&x)[kVectors], float (&groups)[kVectors]) {
  using Format = Format256<kType>;
  Format format(bytes, grid);
  int32_t integers[kVectors] = {};
  STRATA_UNROLL
  for (int s = 0; s < 8; ++s) {
    uint32_t words[8];
    format.Words(bytes, s, words);
    STRATA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const packed::Words4 first = x[v].Q(2 * s);
      const packed::Words4 second = x[v].Q(2 * s + 1);
      if constexpr (Format::kFactorWeights == 16) {
        integers[v] += format.Factor(2 * s) * DotOfFour(words, first, 0);
        integers[v] += format.Factor(2 * s + 1) * DotOfFour(words + 4, second, 0);
      } else if constexpr (Format::kFactorWeights == 32) {
        integers[v] += format.Factor(s) * DotOfFour(words + 4, second, DotOfFour(words, first, 0));
      } else {
        integers[v] = DotOfFour(words + 4, second, DotOfFour(words, first, integers[v]));
      }
    }
  }
  STRATA_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const float da = x[v].Scale(0);
    const int32_t integer = integers[v] + format.Correction(x[v]);
    groups[v] = f32::Fma(f32::Mul(format.scale, da), f32::FromInt(integer), groups[v]);
    if constexpr (Format::kHasMins) {
      groups[v] =
          f32::Fma(f32::Mul(format.min_scale, da), f32::FromInt(format.Mins(x[v])), groups[v]);
    }
  }
}

// The group whose bytes these are, of `num_weights`, which are whole blocks.
template <BlockType kType, typename Bytes, int kVectors>
STRATA_NUMERIC void GroupDot(const Bytes& bytes, int num_weights, const uint32_t* grid,
                             const GroupVector (&x)[kVectors], float (&groups)[kVectors]) {
  constexpr WeightKind kKind = GroupFormatOf(kType).kind;
  STRATA_UNROLL
  for (int v = 0; v < kVectors; ++v) groups[v] = 0.0f;
  if constexpr (kKind == WeightKind::kBlocks256) {
    DotOfBlock256<kType, kVectors>(bytes, grid, x, groups);
  } else if constexpr (kKind == WeightKind::kBlocks16) {
    DotOfBlocks16<kVectors>(bytes, num_weights / 32, x, groups);
  } else {
    DotOfBlocks32<kType, kVectors>(bytes, num_weights / 32, x, groups);
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_GROUP_DOT_H_
