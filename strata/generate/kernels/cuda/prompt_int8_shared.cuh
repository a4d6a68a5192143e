// Shared memory of the int8 product kernel of prompts, and what threads copy there. Everything that
// a group of 256 weights brings is there twice: one is computed with while the other arrives.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_SHARED_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_SHARED_CUH_

#include <cstddef>
#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/prompt_format.h"
#include "strata/generate/kernels/cuda/prompt_mma.cuh"
#include "strata/generate/kernels/cuda/prompt_tile.cuh"

namespace strata {

// Of a block: with 16 warps a multiprocessor has others to go on with while one waits.
inline constexpr int kInt8Threads = 512;
// That share the same rows of weights, each with activations of its own.
inline constexpr int kInt8WarpsOfRows = kInt8Threads / kPromptTileWeights;

// 256 bytes of a row, padded so that 8 rows of 16 bytes lie in different banks.
inline constexpr int kPromptStride = 256 + 16;
// The digits of 16 sums (DigitsOfSum): 16 high ones, 16 low ones, padded likewise.
inline constexpr int kDigitStride = 32 + 16;

// Bytes of a row's group as the file has them. Those of types whose groups are whole words of 16
// bytes are brought to such borders; others keep their place within a word of 4, and neighbouring
// rows begin an odd number of these apart.
template <BlockType kType>
struct RawRows {
  static constexpr int kGroupBytes = GroupFormatOf(kType).group_bytes;
  static constexpr bool kAligned = kGroupBytes % 16 == 0;
  static constexpr int kWords = kAligned ? kGroupBytes / 16 : (kGroupBytes + 6) / 4;
  static constexpr int kStride = kAligned ? kWords / 2 * 32 + 16 : (kWords / 2 * 2 + 1) * 4;
  static_assert(kStride >= kWords * (kAligned ? 16 : 4));
};

template <BlockType kType, int kTiles>
struct PromptShared {
  static constexpr PromptFormat kFormat = PromptFormatOf(kType);
  static constexpr bool kA32 = MeetsA32(kFormat.chain);
  static constexpr int kActivations = 8 * kTiles * kInt8WarpsOfRows;
  static constexpr int kScales = ScalesOf(kFormat.chain);
  static constexpr int kFactors = FactorsOf(kFormat.chain);
  static constexpr bool kMins256 = kFormat.has_mins && !kA32;
  static constexpr bool kMins32 = kFormat.has_mins && kA32;
  static constexpr int kWeights = kPromptTileWeights;
  // Of the scales of a block in all activations: pairs stay aligned, 8 blocks are in 8 banks.
  static constexpr int kScaleStride = kActivations + 4;

  struct alignas(16) Buffers {
    uint8_t weights[2][kWeights * kPromptStride];
    uint8_t activations[2][kActivations * kPromptStride];
    uint8_t raw[2][kWeights * RawRows<kType>::kStride + 16];
    float scales[2][kScales][kWeights];
    float min_scales[2][kFormat.has_mins ? kScales : 1][kFormat.has_mins ? kWeights : 4];
    int32_t factors[2][kFactors > 0 ? kFactors : 1][kFactors > 0 ? kWeights : 4];
    uint8_t mins[2][kMins256 ? kWeights * 16 : 16];
    uint8_t sums[2][kMins256 ? kActivations * 32 : 16];
    uint8_t digits[2][kMins256 ? kActivations * kDigitStride : 16];
    float activation_scales[2][kA32 ? 8 : 1][kScaleStride];
    float activation_sums[2][kMins32 ? 8 : 1][kMins32 ? kScaleStride : 4];
    PromptTileRows<kActivations> rows;
  };
  static_assert(sizeof(Buffers) <= 227 << 10);  // What a block of compute capability 9.0 can have.
};

// kUnit bytes at a time, of rows whose groups begin at multiples of that.
template <int kUnit, typename Raw>
__device__ __forceinline__ void CopyAlignedRows(const uint8_t* const* rows, int64_t offset,
                                                int bytes, uint8_t* raw) {
  constexpr int kUnits = Raw::kWords * 16 / kUnit;
  const int units = (bytes + kUnit - 1) / kUnit;
#pragma unroll 4
  for (int i = threadIdx.x; i < kPromptTileWeights * kUnits; i += kInt8Threads) {
    const int row = i / kUnits;
    const int unit = i % kUnits;
    if (unit >= units) continue;
    CopyLater<kUnit>(SharedAddress(raw + row * Raw::kStride + unit * kUnit),
                     rows[row] + offset + unit * kUnit);
  }
}

// Rows that begin anywhere, brought to a border by whole words that have at least one of their
// bytes.
template <typename Raw>
__device__ __forceinline__ void MoveRows(const uint8_t* const* rows, int64_t offset, int bytes,
                                         uint8_t* raw) {
  constexpr int kWords = Raw::kWords * 4;
  for (int i = threadIdx.x; i < kPromptTileWeights * kWords; i += kInt8Threads) {
    const int row = i / kWords;
    const int at = i % kWords * 4;
    if (at >= bytes) continue;
    const auto address = reinterpret_cast<uintptr_t>(rows[row] + offset + at);
    const auto* const words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
    const int misplaced = static_cast<int>(address & 3);
    const uint32_t high = misplaced != 0 && at + 4 - misplaced < bytes ? words[1] : 0;
    *reinterpret_cast<uint32_t*>(raw + row * Raw::kStride + at) =
        packed::FunnelRight(words[0], high, 8 * misplaced);
  }
}

// The bytes of group `group` of all rows, on their way.
template <BlockType kType>
__device__ __forceinline__ void CopyRawRows(const PromptArguments& p, const uint8_t* const* rows,
                                            int group, uint32_t border, uint8_t* raw) {
  using Raw = RawRows<kType>;
  const int64_t offset = int64_t{group} * Raw::kGroupBytes;
  const int bytes = static_cast<int>(min(p.row_bytes - offset, int64_t{Raw::kGroupBytes}));
  if constexpr (Raw::kAligned) {
    if (border % 16 == 0) return CopyAlignedRows<16, Raw>(rows, offset, bytes, raw);
    if (border % 8 == 0) return CopyAlignedRows<8, Raw>(rows, offset, bytes, raw);
    if (border % 4 == 0) return CopyAlignedRows<4, Raw>(rows, offset, bytes, raw);
    return MoveRows<Raw>(rows, offset, bytes, raw);
  } else {
#pragma unroll 4
    for (int i = threadIdx.x; i < kPromptTileWeights * Raw::kWords; i += kInt8Threads) {
      const int row = i / Raw::kWords;
      const int word = i % Raw::kWords;
      const auto address = reinterpret_cast<uintptr_t>(rows[row] + offset);
      const int words = (static_cast<int>(address & 3) + bytes + 3) / 4;
      if (word >= words) continue;
      CopyLater<4>(SharedAddress(raw + row * Raw::kStride + word * 4),
                   reinterpret_cast<const uint8_t*>(address & ~uintptr_t{3}) + word * 4);
    }
  }
}

// The codes and scales of group `group` of all activations, on their way; A32 has `blocks` blocks.
template <BlockType kType, int kTiles>
__device__ __forceinline__ void CopyActivations(
    const PromptArguments& p, typename PromptShared<kType, kTiles>::Buffers& shared, int group,
    int blocks) {
  using Shared = PromptShared<kType, kTiles>;
  const DeviceInt8Rows& x = Shared::kA32 ? p.x.a32 : p.x.a256;
  const int buffer = group % 2;
  const int run = threadIdx.x % 16;
  if (run < 2 * blocks) {
#pragma unroll
    for (int i = threadIdx.x / 16; i < Shared::kActivations; i += kInt8Threads / 16) {
      CopyLater<16>(
          SharedAddress(&shared.activations[buffer][i * kPromptStride + 16 * run]),
          x.q + int64_t{shared.rows.vectors[i]} * p.columns + int64_t{group} * 256 + 16 * run);
    }
  }
  if constexpr (Shared::kA32) {
    const int all_blocks = p.columns / 32;
    for (int i = threadIdx.x; i < 8 * Shared::kActivations; i += kInt8Threads) {
      const int block = i % 8;
      const int activation = i / 8;
      if (block >= blocks) continue;
      const int64_t at =
          int64_t{shared.rows.vectors[activation]} * all_blocks + int64_t{group} * 8 + block;
      CopyLater<4>(SharedAddress(&shared.activation_scales[buffer][block][activation]),
                   x.scales + at);
      if constexpr (Shared::kMins32) {
        shared.activation_sums[buffer][block][activation] = f32::FromInt(x.sums[at]);
      }
    }
  } else if (threadIdx.x < Shared::kActivations) {
    const int i = threadIdx.x;
    CopyLater<4>(SharedAddress(&shared.activation_scales[buffer][0][i]),
                 x.scales + int64_t{shared.rows.vectors[i]} * (p.columns / 256) + group);
  }
}

// The sums of 16 codes of A256.
template <BlockType kType, int kTiles>
__device__ __forceinline__ void CopySums(const PromptArguments& p,
                                         typename PromptShared<kType, kTiles>::Buffers& shared,
                                         int group) {
  using Shared = PromptShared<kType, kTiles>;
  if constexpr (Shared::kMins256) {
    const int i = threadIdx.x / 2;
    const int half = threadIdx.x % 2;
    if (i >= Shared::kActivations) return;
    CopyLater<16>(SharedAddress(&shared.sums[group % 2][i * 32 + 16 * half]),
                  p.x.a256.sums + int64_t{shared.rows.vectors[i]} * (p.columns / 16) +
                      int64_t{group} * 16 + 8 * half);
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_SHARED_CUH_
