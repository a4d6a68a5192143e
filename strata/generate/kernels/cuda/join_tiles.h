// The end of attention: the partial results of a row's tiles become its output. Device code.
#ifndef STRATA_GENERATE_KERNELS_CUDA_JOIN_TILES_H_
#define STRATA_GENERATE_KERNELS_CUDA_JOIN_TILES_H_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/attention_row.h"
#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/lanes.h"

namespace strata {

// Of the joined heads.
constexpr size_t JoinSharedBytes(int value_size) {
  return size_t{kAttentionHeads} * value_size * sizeof(float);
}

// Whether the outputs of each chunk of heads are whole blocks of the int8 form with such blocks.
STRATA_NUMERIC bool ChunksAreBlocks(int num_heads, int num_kv_heads, int value_size, int block) {
  const int heads_of_kv_head = num_heads / num_kv_heads;
  const bool is_cut = heads_of_kv_head > kAttentionHeads;
  return heads_of_kv_head * value_size % block == 0 &&
         (!is_cut || kAttentionHeads * value_size % block == 0);
}

// Whether a chunk's outputs can be brought into the forms of `out` without its neighbours'.
STRATA_NUMERIC bool ChunksStoreForms(const AttendTask& task) {
  const int size = task.kv.value_size;
  const int num_kv_heads = task.kv.num_heads;
  if (task.out.a32.q != nullptr && !ChunksAreBlocks(task.num_heads, num_kv_heads, size, 32)) {
    return false;
  }
  return task.out.a256.q == nullptr || ChunksAreBlocks(task.num_heads, num_kv_heads, size, 256);
}

#ifdef __CUDACC__

inline constexpr int kTilesPerLane = kMaxAttentionTiles / 32;

// By head and tile, in shared memory; zero from the number of tiles on.
struct TileFactors {
  float sums[kAttentionHeads][kMaxAttentionTiles];     // Of the weights of a tile,
  float factors[kAttentionHeads][kMaxAttentionTiles];  // and what its results count.
};

// Fills in the factors of a head; returns what the sum of all is divided by. By a warp.
__device__ __forceinline__ float MakeFactors(const AttendTask& task, const AttentionRow& work,
                                             const float* stats, int head, TileFactors& shared) {
  const int lane = threadIdx.x % 32;
  float2 own[kTilesPerLane];
  float max = MinusInfinity();
#pragma unroll
  for (int k = 0; k < kTilesPerLane; ++k) {
    const int tile = lane + 32 * k;
    own[k] = make_float2(MinusInfinity(), 0.0f);
    if (tile < work.tiles.count) {
      own[k] = LoadTwoFromL2(stats + (tile * kAttentionHeads + head) * 2);
    }
    max = MaxOf(max, own[k].x);
  }
  max = MaxOfLanes(max);
  const bool has_sink = task.sinks != nullptr;
  const float sink = has_sink ? task.sinks[work.heads.first_head + head] : 0.0f;
  if (has_sink) max = MaxOf(max, sink);
#pragma unroll
  for (int k = 0; k < kTilesPerLane; ++k) {
    shared.sums[head][lane + 32 * k] = own[k].y;
    shared.factors[head][lane + 32 * k] = JoinFactor(own[k].x, own[k].y, max);
  }
  __syncwarp();
  float sum = 0.0f;
#pragma unroll 8
  for (int tile = 0; tile < work.tiles.count; ++tile) {
    sum = f32::Fma(shared.sums[head][tile], shared.factors[head][tile], sum);
  }
  return has_sink ? f32::Add(sum, f32::Exp(f32::Sub(sink, max))) : sum;
}

// Four dimensions of a head over all tiles.
__device__ __forceinline__ float4 SumOverTiles(const float* values, int64_t stride, int num_tiles,
                                               const float* factors) {
  constexpr int kAtOnce = 32;
  static_assert(kMaxAttentionTiles % kAtOnce == 0);
  float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int first = 0; first < num_tiles; first += kAtOnce) {
    float4 parts[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      parts[i] = LoadFourFromL2(values + (first + i) * stride, first + i < num_tiles);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float factor = factors[first + i];
      FmaFour(make_float4(factor, factor, factor, factor), parts[i], sum);
    }
  }
  return sum;
}

// The output of a chunk's heads, a warp a head, to `joined` [heads][value_size].
__device__ __forceinline__ void JoinTiles(const AttendTask& task, const AttentionRow& work,
                                          float* joined) {
  __shared__ TileFactors factors;
  const int head = threadIdx.x / 32;
  if (head >= work.heads.count) return;
  const int size = task.kv.value_size;
  const PartialPlaces places =
      PartialPlacesOf(task.num_rows, work.num_chunks, size, work.row, work.chunk, 0);
  const float divisor = MakeFactors(task, work, task.partials + places.stats, head, factors);
  const float* const values = task.partials + places.values + head * size;
  for (int dim = 4 * (threadIdx.x % 32); dim < size; dim += 128) {
    const float4 sum = SumOverTiles(values + dim, int64_t{kAttentionHeads} * size, work.tiles.count,
                                    factors.factors[head]);
    *reinterpret_cast<float4*>(joined + head * size + dim) =
        make_float4(f32::Div(sum.x, divisor), f32::Div(sum.y, divisor), f32::Div(sum.z, divisor),
                    f32::Div(sum.w, divisor));
  }
}

__device__ __forceinline__ EightValues EightOf(const float4& low, const float4& high) {
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

// Stores the chunk's outputs in all forms, or where blocks are shared with other chunks as f32
// alone.
__device__ __forceinline__ void StoreChunk(const AttendTask& task, const AttentionRow& work,
                                           bool in_all_forms, const float* joined) {
  const int size = work.heads.count * task.kv.value_size;
  const int64_t first = int64_t{work.heads.first_head} * task.kv.value_size;
  DeviceActivations out = task.out;
  if (!in_all_forms) out.a32 = out.a256 = DeviceInt8Rows();
  for (int begin = threadIdx.x / 32 * 256; begin < size; begin += kAttentionWarps * 256) {
    const int i = begin + 8 * (threadIdx.x % 32);
    EightValues values = {};
    if (i < size) {
      const auto* const from = reinterpret_cast<const float4*>(joined + i);
      values = EightOf(from[0], from[1]);
    }
    StoreForms(out, work.row, first + i, i < size, values, task.fault, work.row);
  }
}

// The forms of a whole row whose f32 values are stored.
__device__ __forceinline__ void StoreRowForms(const AttendTask& task, int row) {
  DeviceActivations out = task.out;
  out.values = nullptr;
  for (int64_t begin = threadIdx.x / 32 * 256; begin < out.size; begin += kAttentionWarps * 256) {
    const int64_t i = begin + 8 * (threadIdx.x % 32);
    EightValues values = {};
    if (i < out.size) {
      const float* const from = task.out.values + row * out.size + i;
      values = EightOf(LoadFourFromL2(from), LoadFourFromL2(from + 4));
    }
    StoreForms(out, row, i, i < out.size, values, task.fault, row);
  }
}

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_JOIN_TILES_H_
