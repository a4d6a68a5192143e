// Tiles of attention by f32 chains: any format and head size. Device code.
//
// 32 positions at a time: keys in shared memory as f32, a warp a head with a position in each lane;
// then values, a warp a head with its dimensions in the lanes.
#ifndef STRATA_GENERATE_KERNELS_CUDA_CHAIN_TILES_H_
#define STRATA_GENERATE_KERNELS_CUDA_CHAIN_TILES_H_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/attention_row.h"
#include "strata/generate/kernels/cuda/lanes.h"

namespace strata {

inline constexpr int kChainPositions = 32;
inline constexpr int kMaxChainHeadSize = 512;

// Rows of f32 in shared memory are odd, so that lanes that read different rows meet other banks.
constexpr size_t ChainSharedBytes(int key_size, int value_size) {
  const int widest = key_size > value_size ? key_size : value_size;
  return (size_t{kAttentionHeads} * key_size + size_t{kChainPositions} * (widest + 1)) *
         sizeof(float);
}

#ifdef __CUDACC__

template <KvFormat kFormat>
class ChainTiles {
 public:
  static constexpr bool kJoinsOnlyTile = false;
  static constexpr bool kMayPrepare = false;

  __device__ ChainTiles(const AttendTask& task, const AttentionRow& work, float* shared)
      : task_(task),
        work_(work),
        queries_(shared),
        rows_(shared + kAttentionHeads * task.kv.key_size) {}

  // Nothing is read before the wait.
  __device__ void LoadEarly(int) const {}

  // Tiles [first, first + step, ...) of the row. The chunk's queries are [heads][key_size].
  __device__ void Run(const float* chunk_queries, int first, int step) {
    const int size = task_.kv.key_size;
    for (int i = threadIdx.x; i < kAttentionHeads * size; i += kAttentionThreads) {
      queries_[i] = i < work_.heads.count * size ? chunk_queries[i] : 0.0f;
    }
    for (int tile = first; tile < work_.tiles.count; tile += step) RunTile(tile);
  }

 private:
  static constexpr int kDims = kMaxChainHeadSize / 32;  // Of a lane.

  __device__ void RunTile(int tile) {
    const int tile_begin = (work_.tiles.first_tile + tile) << work_.tiles.size_bits;
    const int tile_end = tile_begin + work_.tiles.size();
    const int first = max(tile_begin, work_.tiles.first);
    const int end = min(tile_end, work_.position + 1);
    float greatest = MinusInfinity();
    float sum = 0.0f;
    float out[kDims] = {};
    for (int begin = first / kChainPositions * kChainPositions; begin < end;
         begin += kChainPositions) {
      AddPositions(begin, first, end, greatest, sum, out);
    }
    Store(tile, greatest, sum, out);
  }

  __device__ void LoadRows(const std::byte* run, int size, int begin, int first, int end) {
    for (int p = threadIdx.x / 32; p < kChainPositions; p += kAttentionWarps) {
      const bool is_seen = first <= begin + p && begin + p < end;
      for (int i = threadIdx.x % 32; i < size; i += 32) {
        rows_[p * (size + 1) + i] =
            is_seen ? LoadKvValue(kFormat, run, size, (begin + p) % kKvPagePositions, i) : 0.0f;
      }
    }
  }

  __device__ void AddPositions(int begin, int first, int end, float& max, float& sum,
                               float (&out)[kDims]) {
    const KvLayer& kv = task_.kv;
    const int lane = threadIdx.x % 32;
    const int head = threadIdx.x / 32;
    const std::byte* const page = task_.page_table[work_.first_page + begin / kKvPagePositions];
    __syncthreads();
    LoadRows(page + kv.keys_offset(work_.heads.kv_head), kv.key_size, begin, first, end);
    __syncthreads();
    const bool is_seen = first <= begin + lane && begin + lane < end;
    const float* const query = queries_ + head * kv.key_size;
    const float* const key = rows_ + lane * (kv.key_size + 1);
    float dot = 0.0f;
#pragma unroll 8
    for (int i = 0; i < kv.key_size; ++i) dot = f32::Fma(query[i], key[i], dot);
    const float score = f32::Mul(task_.scale, dot);
    const float new_max = MaxOf(max, MaxOfLanes(is_seen ? score : MinusInfinity()));
    const float weight = is_seen ? f32::Exp(f32::Sub(score, new_max)) : 0.0f;
    const float factor = JoinFactor(max, sum, new_max);
    sum = f32::Fma(sum, factor, FoldLanes(weight));
    max = new_max;

    __syncthreads();
    LoadRows(page + kv.values_offset(work_.heads.kv_head), kv.value_size, begin, first, end);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDims; ++k) out[k] = f32::Mul(out[k], factor);
    for (int p = 0; p < kChainPositions; ++p) {
      const float p_weight = __shfl_sync(kAllLanes, weight, p);
      const float* const value = rows_ + p * (kv.value_size + 1) + lane;
#pragma unroll
      for (int k = 0; k < kDims; ++k) {
        if (lane + 32 * k < kv.value_size) out[k] = f32::Fma(p_weight, value[32 * k], out[k]);
      }
    }
  }

  __device__ void Store(int tile, float max, float sum, const float (&out)[kDims]) {
    const int head = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (head >= work_.heads.count) return;
    const int size = task_.kv.value_size;
    const PartialPlaces places =
        PartialPlacesOf(task_.num_rows, work_.num_chunks, size, work_.row, work_.chunk, tile);
    float* const values = task_.partials + places.values + head * size;
#pragma unroll
    for (int k = 0; k < kDims; ++k) {
      if (lane + 32 * k < size) values[lane + 32 * k] = out[k];
    }
    if (lane == 0) {
      task_.partials[places.stats + 2 * head] = max;
      task_.partials[places.stats + 2 * head + 1] = sum;
    }
  }

  const AttendTask& task_;
  const AttentionRow& work_;
  float* const queries_;  // [kAttentionHeads][key_size]
  float* const rows_;     // [kChainPositions][size + 1]
};

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_CHAIN_TILES_H_
