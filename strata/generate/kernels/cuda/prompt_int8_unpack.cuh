// Unpacking a group of 256 weights of all rows of a block in shared memory.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_UNPACK_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_UNPACK_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/group_bytes.h"
#include "strata/generate/kernels/cuda/prompt_format.h"
#include "strata/generate/kernels/cuda/prompt_int8_shared.cuh"

namespace strata {

// The grid of a type in device memory; null without one.
template <BlockType kType>
__device__ const uint32_t* PromptGrid() {
  return nullptr;
}

__device__ __forceinline__ void StoreWords(const uint32_t (&words)[8], uint8_t* to) {
  auto* const quads = reinterpret_cast<uint4*>(to);
  quads[0] = make_uint4(words[0], words[1], words[2], words[3]);
  quads[1] = make_uint4(words[4], words[5], words[6], words[7]);
}

inline constexpr int kUnpackParts = kInt8Threads / kPromptTileWeights;
inline constexpr int kBlocksOfPart = 8 / kUnpackParts;

// A part of the group of one row; what the group has once is the first part's, its mins the last's.
template <int kPart, BlockType kType, int kTiles, typename Bytes>
__device__ __forceinline__ void UnpackPart(const Bytes& bytes, int row, int blocks, int buffer,
                                           typename PromptShared<kType, kTiles>::Buffers& shared) {
  using Shared = PromptShared<kType, kTiles>;
  uint8_t* const to = &shared.weights[buffer][row * kPromptStride];
  if constexpr (Shared::kA32) {
#pragma unroll
    for (int i = kBlocksOfPart * kPart; i < kBlocksOfPart * (kPart + 1); ++i) {
      if (i >= blocks) return;
      PromptBlock block;
      UnpackForPrompt<kType>(bytes, i, block);
      StoreWords(block.word, to + 32 * i);
      if constexpr (Shared::kScales == 16) {
        shared.scales[buffer][2 * i][row] = block.scale[0];
        shared.scales[buffer][2 * i + 1][row] = block.scale[1];
      } else {
        shared.scales[buffer][i][row] = block.scale[0];
        if constexpr (Shared::kMins32) shared.min_scales[buffer][i][row] = block.scale[1];
      }
    }
  } else {
    Format256<kType> format(bytes, PromptGrid<kType>());
#pragma unroll
    for (int s = kBlocksOfPart * kPart; s < kBlocksOfPart * (kPart + 1); ++s) {
      PromptWords words;
      UnpackForPrompt<kType>(bytes, format, s, words);
      StoreWords(words.word, to + 32 * s);
      if constexpr (Shared::kFactors == 8) {
        shared.factors[buffer][s][row] = words.factor[0];
      } else if constexpr (Shared::kFactors == 16) {
        shared.factors[buffer][2 * s][row] = words.factor[0];
        shared.factors[buffer][2 * s + 1][row] = words.factor[1];
      }
    }
    if constexpr (kPart == 0) {
      shared.scales[buffer][0][row] = format.scale;
      if constexpr (Shared::kMins256) shared.min_scales[buffer][0][row] = format.min_scale;
    } else if constexpr (kPart == kUnpackParts - 1 && Shared::kMins256) {
      const PromptMins mins = MinsForPrompt<kType>(bytes);
      *reinterpret_cast<uint4*>(&shared.mins[buffer][16 * row]) =
          make_uint4(mins.word[0], mins.word[1], mins.word[2], mins.word[3]);
    }
  }
}

// The sums of half of an activation's group.
__device__ __forceinline__ void UnpackSums(const uint8_t* sums, uint8_t* digits) {
  const uint4 words = *reinterpret_cast<const uint4*>(sums);
  const uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
  uint32_t high[2] = {}, low[2] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const SumDigits both = DigitsOfSum(static_cast<int16_t>(pairs[i / 2] >> 16 * (i % 2)));
    high[i / 4] |= (static_cast<uint32_t>(both.high) & 255u) << 8 * (i % 4);
    low[i / 4] |= (static_cast<uint32_t>(both.low) & 255u) << 8 * (i % 4);
  }
  *reinterpret_cast<uint2*>(digits) = make_uint2(high[0], high[1]);
  *reinterpret_cast<uint2*>(digits + 16) = make_uint2(low[0], low[1]);
}

// Calls unpack.operator()<part>() with this thread's part.
template <int kPart = 0, typename Unpack>
__device__ __forceinline__ void WithOwnPart(Unpack unpack) {
  if constexpr (kPart < kUnpackParts) {
    if (threadIdx.x / kPromptTileWeights == kPart) {
      unpack.template operator()<kPart>();
    } else {
      WithOwnPart<kPart + 1>(unpack);
    }
  }
}

// A thread has a row of weights and one of its parts, so that the lanes of a warp read the same
// words of different rows.
template <BlockType kType, int kTiles>
__device__ __forceinline__ void UnpackGroup(const PromptArguments& p,
                                            typename PromptShared<kType, kTiles>::Buffers& shared,
                                            int group, int blocks) {
  using Shared = PromptShared<kType, kTiles>;
  using Raw = RawRows<kType>;
  const int buffer = group % 2;
  const int row = threadIdx.x % kPromptTileWeights;
  uint32_t offset = row * Raw::kStride;
  if constexpr (!Raw::kAligned) {
    const auto address = reinterpret_cast<uintptr_t>(shared.rows.weights[row]);
    offset += (static_cast<uint32_t>(address) + group * Raw::kGroupBytes) & 3u;
  }
  const GroupBytes<Raw::kAligned> bytes(shared.raw[buffer], offset);
  WithOwnPart(
      [&]<int kPart>() { UnpackPart<kPart, kType, kTiles>(bytes, row, blocks, buffer, shared); });
  if constexpr (Shared::kMins256) {
    const int i = threadIdx.x / 2;
    const int half = threadIdx.x % 2;
    if (i >= Shared::kActivations) return;
    UnpackSums(&shared.sums[buffer][i * 32 + 16 * half],
               &shared.digits[buffer][i * kDigitStride + 8 * half]);
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_UNPACK_CUH_
