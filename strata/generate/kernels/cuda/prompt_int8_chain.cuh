// The exact integers of a group on tensor cores and their float chain (numerics, sections 3 and 4).
// A warp has 32 rows of weights, as A, and kTiles times 8 activations, as B.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_CHAIN_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_CHAIN_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/prompt_format.h"
#include "strata/generate/kernels/cuda/prompt_fragments.h"
#include "strata/generate/kernels/cuda/prompt_int8_shared.cuh"
#include "strata/generate/kernels/cuda/prompt_mma.cuh"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// A float whose neighbours are 1 apart: its bits plus an integer below 2^22 are those of the sum.
inline constexpr int32_t kFloatBorderBits = 0x4b400000;
inline constexpr float kFloatBorder = 12582912.0f;

__device__ __forceinline__ float OverBorder(int32_t bits) {
  return f32::Sub(f32::FromBits(static_cast<uint32_t>(bits)), kFloatBorder);
}

// What a warp reads of a group in shared memory.
template <BlockType kType, int kTiles>
struct WarpGroup {
  using Shared = PromptShared<kType, kTiles>;

  __device__ __forceinline__ WarpGroup(const typename Shared::Buffers& buffers, int group)
      : shared(buffers),
        buffer(group % 2),
        lane(threadIdx.x % 32),
        first_row(threadIdx.x / 32 % 4 * 32),
        first_activation(threadIdx.x / kPromptTileWeights * 8 * kTiles),
        weights(SharedAddress(&buffers.weights[buffer][first_row * kPromptStride]) +
                OffsetInA(lane, kPromptStride)),
        activations(SharedAddress(&buffers.activations[buffer][first_activation * kPromptStride]) +
                    OffsetInTwoBs(lane, kPromptStride)) {}

  // 32 weights from 32 * s on of the rows of half m.
  __device__ __forceinline__ void LoadWeights(int m, int s, uint32_t (&a)[4]) const {
    LoadMatrices(a, weights + m * 16 * kPromptStride + 32 * s);
  }
  // Of activations 8n to 8n + 15.
  __device__ __forceinline__ void LoadActivations(int n, int s, uint32_t (&b)[4]) const {
    LoadMatrices(b, activations + n * 8 * kPromptStride + 32 * s);
  }
  // The thread's rows of half m are this one and the eighth after it.
  __device__ __forceinline__ int row(int m) const { return first_row + 16 * m + lane / 4; }
  // Its activations of tile n are this one and the next.
  __device__ __forceinline__ int activation(int n) const {
    return first_activation + 8 * n + lane % 4 * 2;
  }
  __device__ __forceinline__ float2 ActivationScales(int block, int n) const {
    return *reinterpret_cast<const float2*>(
        &shared.activation_scales[buffer][block][activation(n)]);
  }

  const typename Shared::Buffers& shared;
  const int buffer, lane, first_row, first_activation;
  const uint32_t weights, activations;
};

__device__ __forceinline__ float Of(const float2& pair, int i) { return i == 0 ? pair.x : pair.y; }

// I of A256: all that is under one scale.
template <BlockType kType, int kTiles>
__device__ __forceinline__ void IntegersOf256(const WarpGroup<kType, kTiles>& group,
                                              int32_t (&integers)[2][kTiles][4]) {
  constexpr PromptChain kChain = kPromptFormatOf<kType>.chain;
  constexpr int32_t kStart = kPromptFormatOf<kType>.is_small ? kFloatBorderBits : 0;
  constexpr int32_t kZero[4] = {};
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        integers[m][n][i] = kStart;
      }
    }
  }
#pragma unroll 1
  for (int s = 0; s < 8; ++s) {
    uint32_t a[2][4];
    int32_t factors[2][2][2];  // [m][row][16s]
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      group.LoadWeights(m, s, a[m]);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = group.row(m) + 8 * i;
        if constexpr (kChain == PromptChain::kFactors32) {
          factors[m][i][0] = group.shared.factors[group.buffer][s][row];
        } else if constexpr (kChain == PromptChain::kFactors16) {
          factors[m][i][0] = group.shared.factors[group.buffer][2 * s][row];
          factors[m][i][1] = group.shared.factors[group.buffer][2 * s + 1][row];
        }
      }
    }
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      uint32_t b[4];
      group.LoadActivations(n, s, b);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          int32_t(&sum)[4] = integers[m][n + k];
          if constexpr (kChain == PromptChain::kSum256) {
            MmaBytes32(sum, a[m], b[2 * k], b[2 * k + 1], sum);
          } else if constexpr (kChain == PromptChain::kFactors32) {
            int32_t part[4];
            MmaBytes32(part, a[m], b[2 * k], b[2 * k + 1], kZero);
#pragma unroll
            for (int i = 0; i < 4; ++i) sum[i] += factors[m][i / 2][0] * part[i];
          } else {
            int32_t parts[2][4];
            MmaBytes16(parts[0], a[m][0], a[m][1], b[2 * k], kZero);
            MmaBytes16(parts[1], a[m][2], a[m][3], b[2 * k + 1], kZero);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              sum[i] += factors[m][i / 2][0] * parts[0][i];
              sum[i] += factors[m][i / 2][1] * parts[1][i];
            }
          }
        }
      }
    }
  }
}

// M of tiles n and n + 1 as floats: two digits of the sums meet the mins.
template <BlockType kType, int kTiles>
__device__ __forceinline__ void MinsOf256(const WarpGroup<kType, kTiles>& group,
                                          const uint32_t (&mins)[4], int n,
                                          float (&result)[2][2][4]) {
  constexpr int32_t kZero[4] = {};
  constexpr int32_t kBorder[4] = {kFloatBorderBits, kFloatBorderBits, kFloatBorderBits,
                                  kFloatBorderBits};
  uint32_t b[4];
  LoadMatrices(
      b, SharedAddress(
             &group.shared.digits[group.buffer][(group.first_activation + 8 * n) * kDigitStride]) +
             OffsetInTwoBs(group.lane, kDigitStride));
#pragma unroll
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      int32_t high[4], low[4];
      MmaBytes16(high, mins[2 * m], mins[2 * m + 1], b[2 * k], kZero);
      MmaBytes16(low, mins[2 * m], mins[2 * m + 1], b[2 * k + 1], kBorder);
#pragma unroll
      for (int i = 0; i < 4; ++i) result[k][m][i] = OverBorder(64 * high[i] + low[i]);
    }
  }
}

template <BlockType kType>
__device__ __forceinline__ float ToFloat(int32_t integer) {
  constexpr PromptFormat kFormat = kPromptFormatOf<kType>;
  if constexpr (!kFormat.is_small) return f32::FromInt(integer);
  if constexpr (kFormat.is_negated) {
    return f32::Sub(kFloatBorder, f32::FromBits(static_cast<uint32_t>(integer)));
  }
  return OverBorder(integer);
}

// results += the chain of a group under A256.
template <BlockType kType, int kTiles>
__device__ __forceinline__ void AddGroup256(const WarpGroup<kType, kTiles>& group,
                                            float (&results)[2][kTiles][4]) {
  using Shared = PromptShared<kType, kTiles>;
  int32_t integers[2][kTiles][4];
  IntegersOf256(group, integers);
  float scales[2][2], min_scales[2][2];
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      scales[m][i] = group.shared.scales[group.buffer][0][group.row(m) + 8 * i];
      if constexpr (Shared::kMins256) {
        min_scales[m][i] = group.shared.min_scales[group.buffer][0][group.row(m) + 8 * i];
      }
    }
  }
  uint32_t mins[4];
  if constexpr (Shared::kMins256) {
    LoadMatrices(
        mins, SharedAddress(&group.shared.mins[group.buffer][16 * (group.first_row + group.lane)]));
  }
#pragma unroll
  for (int n = 0; n < kTiles; n += 2) {
    float sums[2][2][4];
    if constexpr (Shared::kMins256) MinsOf256(group, mins, n, sums);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const float2 da = group.ActivationScales(0, n + k);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float own = Of(da, i % 2);
          float chain = f32::Fma(f32::Mul(scales[m][i / 2], own),
                                 ToFloat<kType>(integers[m][n + k][i]), 0.0f);
          if constexpr (Shared::kMins256) {
            chain = f32::Fma(f32::Mul(min_scales[m][i / 2], own), sums[k][m][i], chain);
          }
          results[m][n + k][i] = f32::Add(results[m][n + k][i], chain);
        }
      }
    }
  }
}

// The chain of a block of 32 under A32: chains = fma(s da, I, chains), then the minimum's.
template <BlockType kType, int kTiles>
__device__ __forceinline__ void AddBlock32(const WarpGroup<kType, kTiles>& group, int block,
                                           float (&chains)[2][kTiles][4]) {
  using Shared = PromptShared<kType, kTiles>;
  constexpr bool kHalves = Shared::kScales == 16;
  constexpr int32_t kBorder[4] = {kFloatBorderBits, kFloatBorderBits, kFloatBorderBits,
                                  kFloatBorderBits};
  uint32_t a[2][4];
  float scales[2][2][2];  // [m][row][half, or the minimum]
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    group.LoadWeights(m, block, a[m]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = group.row(m) + 8 * i;
      const auto& own = group.shared.scales[group.buffer];
      scales[m][i][0] = own[kHalves ? 2 * block : block][row];
      if constexpr (kHalves) scales[m][i][1] = own[2 * block + 1][row];
      if constexpr (Shared::kMins32) {
        scales[m][i][1] = group.shared.min_scales[group.buffer][block][row];
      }
    }
  }
#pragma unroll
  for (int n = 0; n < kTiles; n += 2) {
    uint32_t b[4];
    group.LoadActivations(n, block, b);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const float2 da = group.ActivationScales(block, n + k);
      float2 sums;
      if constexpr (Shared::kMins32) {
        sums = *reinterpret_cast<const float2*>(
            &group.shared.activation_sums[group.buffer][block][group.activation(n + k)]);
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        int32_t integers[4], second[4];
        if constexpr (kHalves) {
          MmaBytes16(integers, a[m][0], a[m][1], b[2 * k], kBorder);
          MmaBytes16(second, a[m][2], a[m][3], b[2 * k + 1], kBorder);
        } else {
          MmaBytes32(integers, a[m], b[2 * k], b[2 * k + 1], kBorder);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float own = Of(da, i % 2);
          float& chain = chains[m][n + k][i];
          chain = f32::Fma(f32::Mul(scales[m][i / 2][0], own), OverBorder(integers[i]), chain);
          if constexpr (kHalves) {
            chain = f32::Fma(f32::Mul(scales[m][i / 2][1], own), OverBorder(second[i]), chain);
          }
          if constexpr (Shared::kMins32) {
            chain = f32::Fma(f32::Mul(scales[m][i / 2][1], own), Of(sums, i % 2), chain);
          }
        }
      }
    }
  }
}

template <BlockType kType, int kTiles>
__device__ __forceinline__ void AddGroup32(const WarpGroup<kType, kTiles>& group, int blocks,
                                           float (&results)[2][kTiles][4]) {
  float chains[2][kTiles][4] = {};
#pragma unroll 1
  for (int block = 0; block < blocks; ++block) AddBlock32(group, block, chains);
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) results[m][n][i] = f32::Add(results[m][n][i], chains[m][n][i]);
    }
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_CHAIN_CUH_
