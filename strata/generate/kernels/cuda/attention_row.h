// One row and the heads of it that a block of threads attends with together, and where its partial
// results go. Device code, shared by the ways to compute a tile.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ATTENTION_ROW_H_
#define STRATA_GENERATE_KERNELS_CUDA_ATTENTION_ROW_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/attend_rows.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr int kAttentionThreads = 256;
inline constexpr int kAttentionWarps = kAttentionThreads / 32;

// How the heads of a row are dealt out: those of one KV head, kAttentionHeads at a time.
STRATA_NUMERIC int ChunksOfKvHead(int num_heads, int num_kv_heads) {
  return (num_heads / num_kv_heads + kAttentionHeads - 1) / kAttentionHeads;
}
STRATA_NUMERIC int NumHeadChunks(int num_heads, int num_kv_heads) {
  return num_kv_heads * ChunksOfKvHead(num_heads, num_kv_heads);
}

struct HeadChunk {
  int kv_head = 0;
  int first_head = 0;
  int count = 0;
};

STRATA_NUMERIC HeadChunk HeadChunkOf(int chunk, int num_heads, int num_kv_heads) {
  const int heads_of_kv_head = num_heads / num_kv_heads;
  const int chunks = ChunksOfKvHead(num_heads, num_kv_heads);
  const int first = chunk % chunks * kAttentionHeads;
  const int left = heads_of_kv_head - first;
  HeadChunk heads;
  heads.kv_head = chunk / chunks;
  heads.first_head = heads.kv_head * heads_of_kv_head + first;
  heads.count = left < kAttentionHeads ? left : kAttentionHeads;
  return heads;
}

// Where the partial results of a tile lie within AttendTask::partials: first the maximum and the
// sum of each head for all rows, chunks and tiles, then the weighted values.
struct PartialPlaces {
  int64_t stats = 0;   // [kAttentionHeads][2]
  int64_t values = 0;  // [kAttentionHeads][value_size]
};

STRATA_NUMERIC PartialPlaces PartialPlacesOf(int num_rows, int num_chunks, int value_size, int row,
                                             int chunk, int tile) {
  const int64_t num_tiles = int64_t{num_rows} * num_chunks * kMaxAttentionTiles;
  const int64_t index = (int64_t{row} * num_chunks + chunk) * kMaxAttentionTiles + tile;
  return {index * kAttentionHeads * 2,
          num_tiles * kAttentionHeads * 2 + index * kAttentionHeads * value_size};
}

#ifdef __CUDACC__

// What a block knows of its work.
struct AttentionRow {
  int row;
  int chunk;
  int num_chunks;
  HeadChunk heads;
  int position;
  int first_page;
  AttentionTiles tiles;
};

__device__ __forceinline__ AttentionRow AttentionRowOf(const AttendTask& task, int row, int chunk) {
  const DeviceStepRow& place = task.step->rows[row];
  AttentionRow work;
  work.row = row;
  work.chunk = chunk;
  work.num_chunks = NumHeadChunks(task.num_heads, task.kv.num_heads);
  work.heads = HeadChunkOf(chunk, task.num_heads, task.kv.num_heads);
  work.position = place.position;
  work.first_page = place.first_page;
  work.tiles = TilesOf(place.position, task.window);
  return work;
}

// Joining softmaxes: what one with this maximum counts under a greater one. An empty one, whose sum
// is 0, counts nothing.
__device__ __forceinline__ float JoinFactor(float max, float sum, float greater) {
  return sum == 0.0f ? 0.0f : f32::Exp(f32::Sub(max, greater));
}

__device__ __forceinline__ float MaxOf(float a, float b) { return a > b ? a : b; }
__device__ __forceinline__ float MaxOfLanes(float x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) x = MaxOf(x, __shfl_xor_sync(0xffffffffu, x, mask));
  return x;
}

__device__ __forceinline__ float MinusInfinity() { return __uint_as_float(0xff800000u); }

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ATTENTION_ROW_H_
