// The arithmetic of the attention kernels of prompts: scores, probabilities, and the sums of values,
// of a warp's 16 slots.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_MATH_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_MATH_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/prompt_attend.h"
#include "strata/generate/kernels/cuda/prompt_attend_shared.cuh"
#include "strata/generate/kernels/cuda/prompt_fragments.h"
#include "strata/generate/kernels/cuda/prompt_mma.cuh"
#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr float kNothing = -INFINITY;

// The two terms that are added to d: kHalves chooses their type.
template <bool kHalves>
__device__ __forceinline__ void Mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  if constexpr (kHalves) {
    MmaHalves(d, a, b0, b1);
  } else {
    MmaBfloats(d, a, b0, b1);
  }
}

// Scores of the warp's slots with a page, before any scale.
template <KvFormat kFormat, int kSize>
__device__ __forceinline__ void Scores(const typename Attending<kFormat, kSize>::Buffers& shared,
                                       const uint8_t* keys, float (&scores)[kKeyTiles][4]) {
  using Way = Attending<kFormat, kSize>;
  const int lane = threadIdx.x % 32;
  const uint32_t queries = SharedAddress(&shared.queries[0][threadIdx.x / 32 * 16 * Way::kStride]) +
                           OffsetInA(lane, Way::kStride);
  const uint32_t columns = SharedAddress(keys) + OffsetInTwoBs(lane, Way::kStride);
#pragma unroll
  for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n][i] = 0.0f;
  }
#pragma unroll 1
  for (int block = 0; block < kSize / kKvScaleBlock; ++block) {
    float parts[kKeyTiles][4] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int k = 2 * block + half;
      uint32_t a[Way::kTerms][4];
#pragma unroll
      for (int j = 0; j < Way::kTerms; ++j) {
        LoadMatrices(a[j], queries + j * Way::kSlots * Way::kStride + 32 * k);
      }
#pragma unroll
      for (int n = 0; n < kKeyTiles; n += 2) {
#pragma unroll
        for (int i = Way::kKvTerms - 1; i >= 0; --i) {
          uint32_t b[4];
          LoadMatrices(b, columns + (i * kPage + 8 * n) * Way::kStride + 32 * k);
#pragma unroll
          for (int j = Way::kTerms - 1; j >= 0; --j) {
            if (i + j > 2) continue;
            Mma<Way::kHalves>(Way::kScaled ? parts[n] : scores[n], a[j], b[0], b[1]);
            Mma<Way::kHalves>(Way::kScaled ? parts[n + 1] : scores[n + 1], a[j], b[2], b[3]);
          }
        }
      }
    }
    if constexpr (Way::kScaled) {
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n) {
        const float2 scale =
            *reinterpret_cast<const float2*>(&shared.scales[block][8 * n + lane % 4 * 2]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          scores[n][i] = f32::Fma(i % 2 == 0 ? scale.x : scale.y, parts[n][i], scores[n][i]);
        }
      }
    }
  }
}

// Two numbers as terms of a pair of halves or bfloat16, the first in the low one.
template <bool kHalves, int kTerms>
__device__ __forceinline__ void SplitTerms(float x, float y, uint32_t (&terms)[kTerms]) {
#pragma unroll
  for (int j = 0; j < kTerms; ++j) {
    if constexpr (kHalves) {
      const __half2 pair = __floats2half2_rn(x, y);
      terms[j] = static_cast<uint32_t>(__half_as_ushort(__low2half(pair))) |
                 static_cast<uint32_t>(__half_as_ushort(__high2half(pair))) << 16;
      x = f32::Sub(x, __low2float(pair));
      y = f32::Sub(y, __high2float(pair));
    } else {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
      terms[j] = static_cast<uint32_t>(__bfloat16_as_ushort(__low2bfloat16(pair))) |
                 static_cast<uint32_t>(__bfloat16_as_ushort(__high2bfloat16(pair))) << 16;
      x = f32::Sub(x, __low2float(pair));
      y = f32::Sub(y, __high2float(pair));
    }
  }
}

// out += probabilities * values of a page.
template <KvFormat kFormat, int kSize>
__device__ __forceinline__ void AddValues(const typename Attending<kFormat, kSize>::Buffers& shared,
                                          const uint8_t* values,
                                          const float (&probabilities)[kKeyTiles][4],
                                          float (&out)[kSize / 8][4]) {
  using Way = Attending<kFormat, kSize>;
  const int lane = threadIdx.x % 32;
  const uint32_t rows = SharedAddress(values) + OffsetInTwoTransposedBs(lane, Way::kStride);
  // Where each block of values has scales of its own, probabilities are made for each.
  constexpr int kBlocks = Way::kScaled ? kSize / kKvScaleBlock : 1;
  constexpr int kTilesOfBlock = kSize / 8 / kBlocks;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int k = 0; k < kPage / 16; ++k) {
      uint32_t a[Way::kTerms][4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {  // Rows g and g + 8, of 8 keys and of the next 8.
        const float(&tile)[4] = probabilities[2 * k + r / 2];
        float x = tile[r % 2 * 2];
        float y = tile[r % 2 * 2 + 1];
        if constexpr (Way::kScaled) {
          const float2 scale = *reinterpret_cast<const float2*>(
              &shared.scales[block][16 * k + r / 2 * 8 + lane % 4 * 2]);
          x = f32::Mul(x, scale.x);
          y = f32::Mul(y, scale.y);
        }
        uint32_t terms[Way::kTerms];
        SplitTerms<Way::kHalves>(x, y, terms);
#pragma unroll
        for (int j = 0; j < Way::kTerms; ++j) a[j][r] = terms[j];
      }
#pragma unroll
      for (int n = block * kTilesOfBlock; n < (block + 1) * kTilesOfBlock; n += 2) {
#pragma unroll
        for (int i = Way::kKvTerms - 1; i >= 0; --i) {
          uint32_t b[4];
          LoadMatricesTransposed(b, rows + (i * kPage + 16 * k) * Way::kStride + 16 * n);
#pragma unroll
          for (int j = Way::kTerms - 1; j >= 0; --j) {
            if (i + j > 2) continue;
            Mma<Way::kHalves>(out[n], a[j], b[0], b[1]);
            Mma<Way::kHalves>(out[n + 1], a[j], b[2], b[3]);
          }
        }
      }
    }
  }
}

// The softmax of a thread's two slots, under way.
template <int kSize>
struct AttendedSlots {
  float max[2] = {kNothing, kNothing};
  float sum[2] = {0.0f, 0.0f};  // Of the thread's own keys.
  float out[kSize / 8][4] = {};
};

// The positions that a slot sees: [first, last].
struct SeenPositions {
  int first[2];
  int last[2];
};

// Scores of the page that begins at position `begin` become probabilities.
template <int kSize>
__device__ __forceinline__ void ToProbabilities(const SeenPositions& seen, int begin,
                                                const float (&factor)[2],
                                                float (&scores)[kKeyTiles][4],
                                                AttendedSlots<kSize>& slots) {
  const int own = begin + threadIdx.x % 4 * 2;
  float max[2] = {kNothing, kNothing};
#pragma unroll
  for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int position = own + 8 * n + i % 2;
      const bool is_seen = seen.first[i / 2] <= position && position <= seen.last[i / 2];
      scores[n][i] = is_seen ? f32::Mul(scores[n][i], factor[i / 2]) : kNothing;
      max[i / 2] = fmaxf(max[i / 2], scores[n][i]);
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    max[r] = fmaxf(max[r], __shfl_xor_sync(0xffffffffu, max[r], 1));
    max[r] = fmaxf(max[r], __shfl_xor_sync(0xffffffffu, max[r], 2));
    max[r] = fmaxf(max[r], slots.max[r]);
    // Nothing seen so far: there is nothing to rescale either.
    const float reference = max[r] == kNothing ? 0.0f : max[r];
    const float scale = f32::Exp(f32::Sub(slots.max[r], reference));
    slots.max[r] = max[r];
    max[r] = reference;
    slots.sum[r] = f32::Mul(slots.sum[r], scale);
#pragma unroll
    for (int n = 0; n < kSize / 8; ++n) {
      slots.out[n][2 * r] = f32::Mul(slots.out[n][2 * r], scale);
      slots.out[n][2 * r + 1] = f32::Mul(slots.out[n][2 * r + 1], scale);
    }
  }
#pragma unroll
  for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float score = scores[n][i];
      scores[n][i] = score == kNothing ? 0.0f : f32::Exp(f32::Sub(score, max[i / 2]));
      slots.sum[i / 2] = f32::Add(slots.sum[i / 2], scores[n][i]);
    }
  }
}

// The sink, the division, and the results to memory.
template <int kSize>
__device__ __forceinline__ void StoreSlots(const PromptAttendTask& task, const AttendedRows& rows,
                                           AttendedSlots<kSize>& slots) {
  const int lane = threadIdx.x % 32;
  const int value_size = task.kv.value_size;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int slot = threadIdx.x / 32 * 16 + lane / 4 + 8 * r;
    float sum = slots.sum[r];
    sum = f32::Add(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
    sum = f32::Add(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
    if (!rows.has(slot)) continue;
    float scale = 1.0f;
    if (task.sinks != nullptr) {
      const float sink = task.sinks[rows.head(slot)];
      const float max = fmaxf(slots.max[r], sink);
      scale = f32::Exp(f32::Sub(slots.max[r], max));
      sum = f32::Fma(sum, scale, f32::Exp(f32::Sub(sink, max)));
    }
    float* const to =
        task.out.values + (rows.step_row(slot) * task.num_heads + rows.head(slot)) * value_size;
#pragma unroll
    for (int n = 0; n < kSize / 8; ++n) {
      const int i = 8 * n + lane % 4 * 2;
      if (i >= value_size) continue;
      *reinterpret_cast<float2*>(to + i) =
          make_float2(f32::Div(f32::Mul(slots.out[n][2 * r], scale), sum),
                      f32::Div(f32::Mul(slots.out[n][2 * r + 1], scale), sum));
    }
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_MATH_CUH_
