// Tiles of attention by tensor cores: head sizes up to 32 kKeyParts and 64 kValueParts. Device code.
//
// A run is 128 positions, of which each of 8 warps has 16 with a softmax of its own; after the last
// run of a tile the warps' softmaxes are joined in order. The matrices are m16n8k16: rows 0 to 7 of
// the left side are the heads, with the upper half of each number, rows 8 to 15 the same heads with
// what the upper half lost. So both halves of a result meet in one lane, which adds them. Scores:
// queries times keys, 8 positions at a time. Output: probabilities times values, where a lane's
// probabilities are already where the left side wants them. The right sides are in tile_elements.h.
//
// While a run is computed, the keys and values of the block's next one are on their way.
#ifndef STRATA_GENERATE_KERNELS_CUDA_TENSOR_TILES_H_
#define STRATA_GENERATE_KERNELS_CUDA_TENSOR_TILES_H_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/attention_row.h"
#include "strata/generate/kernels/cuda/half_products.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/tile_elements.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr int kWarpPositions = 16;

#ifdef __CUDACC__

template <template <int, int> typename Elements, int kKeyParts, int kValueParts>
class TensorTiles {
  using WarpElements = Elements<kKeyParts, kValueParts>;
  static constexpr int kStride = WarpElements::kStride;
  static constexpr int kWarpHeads = kAttentionWarps * kAttentionHeads;

 public:
  // Whether the output of a row's only tile is in shared memory [heads][value_size] after Run.
  static constexpr bool kJoinsOnlyTile = true;
  // Whether queries may be in shared memory, behind SharedBytes of it.
  static constexpr bool kMayPrepare = true;

  STRATA_NUMERIC static constexpr size_t SharedBytes(int value_size) {
    return (size_t{kAttentionHeads} * value_size + kWarpHeads * (kStride + 2)) * sizeof(float);
  }

  __device__ TensorTiles(const AttendTask& task, const AttentionRow& work, float* shared)
      : task_(task),
        work_(work),
        only_output_(shared),
        shared_values_(shared + kAttentionHeads * task.kv.value_size),
        shared_stats_(shared_values_ + kWarpHeads * kStride),
        g_(threadIdx.x % 32 / 4),
        t_(threadIdx.x % 4),
        warp_(threadIdx.x / 32) {}

  // What Run begins with, unless this step stores some of it. Keys and values of earlier steps can
  // be read before the wait.
  __device__ void LoadEarly(int first) {
    const Cursor cursor = Begin(first);
    is_loaded_ = WarpBegin(cursor) + kWarpPositions <= FirstStored(task_, work_);
    if (is_loaded_) Load(PositionsOf(cursor));
  }

  // Tiles [first, first + step, ...) of the row, of which there is at least one. The chunk's queries
  // are [heads][key_size].
  __device__ void Run(const float* chunk_queries, int first, int step) {
    Cursor cursor = Begin(first);
    float queries[kKeyParts][8];
    LoadQueries(chunk_queries, queries);
    WarpPositions positions = PositionsOf(cursor);
    if (!is_loaded_) Load(positions);
    SplitQueries(queries);
    while (cursor.tile < work_.tiles.count) {
      const Cursor next = Next(cursor, step);
      const WarpPositions next_positions = PositionsOf(next);
      float weights[2][2] = {};
      if (positions.sees_any()) elements_.Multiply(queries_, weights);
      LoadKeys(next_positions);
      if (positions.sees_any()) {
        const float factor = ComputeWeights(positions, weights);
        elements_.AddValues(weights, factor);
      }
      LoadValues(next_positions);
      if (next.tile != cursor.tile) {
        StoreTile(cursor.tile);
        Clear();
      }
      cursor = next;
      positions = next_positions;
    }
  }

 private:
  // A run of this block: where its first position is.
  struct Cursor {
    int tile;
    int begin;
    int end;  // Of the tile, or of what the row sees.
  };

  __device__ Cursor Begin(int tile) const {
    if (tile >= work_.tiles.count) return {tile, 0, 0};
    const int tile_begin = (work_.tiles.first_tile + tile) << work_.tiles.size_bits;
    Cursor cursor;
    cursor.tile = tile;
    cursor.begin = max(tile_begin, work_.tiles.first) / kAttentionRun * kAttentionRun;
    cursor.end = min(tile_begin + work_.tiles.size(), work_.position + 1);
    return cursor;
  }

  __device__ Cursor Next(const Cursor& cursor, int step) const {
    Cursor next = cursor;
    next.begin += kAttentionRun;
    if (next.begin >= next.end) return Begin(cursor.tile + step);
    return next;
  }

  __device__ int WarpBegin(const Cursor& cursor) const {
    return cursor.begin + warp_ * kWarpPositions;
  }
  __device__ WarpPositions PositionsOf(const Cursor& cursor) const {
    const int begin = WarpBegin(cursor);
    WarpPositions positions = {nullptr, begin % kKvPagePositions, work_.tiles.first - begin,
                               cursor.end - begin};
    if (positions.first < kWarpPositions && positions.end > 0) {
      positions.page = task_.page_table[work_.first_page + begin / kKvPagePositions];
    }
    return positions;
  }

  __device__ void LoadKeys(const WarpPositions& positions) {
    const KvLayer& kv = task_.kv;
    elements_.LoadKeys(positions, kv.keys_offset(work_.heads.kv_head), kv.key_size);
  }
  __device__ void LoadValues(const WarpPositions& positions) {
    const KvLayer& kv = task_.kv;
    elements_.LoadValues(positions, kv.values_offset(work_.heads.kv_head), kv.value_size);
  }
  __device__ void Load(const WarpPositions& positions) {
    LoadKeys(positions);
    LoadValues(positions);
  }

  __device__ void LoadQueries(const float* chunk_queries, float (&values)[kKeyParts][8]) const {
    const int size = task_.kv.key_size;
    const bool has_head = g_ < work_.heads.count;
    const float* const from = chunk_queries + (has_head ? g_ * size : 0);
    const bool is_prepared = __isShared(chunk_queries);
#pragma unroll
    for (int c = 0; c < kKeyParts; ++c) {
      const int dim = 32 * c + 8 * t_;
      const bool is_there = has_head && dim < size;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float* const at = from + dim + 4 * half;
        const float4 four = is_prepared && is_there ? *reinterpret_cast<const float4*>(at)
                                                    : LoadFourFromL2(at, !is_prepared && is_there);
        values[c][4 * half] = four.x;
        values[c][4 * half + 1] = four.y;
        values[c][4 * half + 2] = four.z;
        values[c][4 * half + 3] = four.w;
      }
    }
  }

  // Queries are divided by a power of two, so that their halves are neither too large nor too
  // small.
  __device__ void SplitQueries(const float (&values)[kKeyParts][8]) {
    uint32_t max = 0;
#pragma unroll
    for (int c = 0; c < kKeyParts; ++c) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const uint32_t magnitude = f32::MagnitudeBits(values[c][i]);
        max = magnitude > max ? magnitude : max;
      }
    }
#pragma unroll
    for (int mask = 1; mask < 4; mask *= 2) {
      const uint32_t other = __shfl_xor_sync(kAllLanes, max, mask);
      max = other > max ? other : max;
    }
    const float unit = PowerOfTwoBelow(max);
    const float inverse = f32::Div(1.0f, unit);
    score_scale_ = f32::Mul(unit, task_.scale);
#pragma unroll
    for (int c = 0; c < kKeyParts; ++c) {
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        // Pairs 0 and 1 are the two depths of an even step, 2 and 3 those of an odd one.
        uint32_t(&fragment)[4] = queries_[2 * c + pair / 2];
        SplitPair(f32::Mul(values[c][2 * pair], inverse),
                  f32::Mul(values[c][2 * pair + 1], inverse), fragment[pair % 2 * 2],
                  fragment[pair % 2 * 2 + 1]);
      }
    }
  }

  // Scores become weights under the maximum so far. Returns what earlier sums count under it.
  __device__ float ComputeWeights(const WarpPositions& positions, float (&weights)[2][2]) {
    bool is_seen[2][2];
    float max = max_;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        is_seen[n][i] = positions.Sees(8 * n + 2 * t_ + i);
        weights[n][i] = f32::Mul(score_scale_, weights[n][i]);
        if (is_seen[n][i]) max = MaxOf(max, weights[n][i]);
      }
    }
    max = MaxOf(max, __shfl_xor_sync(kAllLanes, max, 1));
    max = MaxOf(max, __shfl_xor_sync(kAllLanes, max, 2));
    // Nothing was summed yet where the old maximum is -infinity: any factor will do.
    const float factor = f32::Exp(f32::Sub(max_, max));
    max_ = max;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        weights[n][i] = is_seen[n][i] ? f32::Exp(f32::Sub(weights[n][i], max)) : 0.0f;
      }
    }
    const float sum =
        f32::Add(f32::Add(weights[0][0], weights[0][1]), f32::Add(weights[1][0], weights[1][1]));
    sum_ = f32::Fma(sum_, factor, sum);
    return factor;
  }

  __device__ void Clear() {
    max_ = MinusInfinity();
    sum_ = 0.0f;
    elements_.ClearSums();
  }

  // Joins the warps in order. Barriers for the block.
  __device__ void StoreTile(int tile) {
    float sum = f32::Add(sum_, __shfl_xor_sync(kAllLanes, sum_, 1));
    sum = f32::Add(sum, __shfl_xor_sync(kAllLanes, sum, 2));
    elements_.Store(shared_values_ + (warp_ * kAttentionHeads + g_) * kStride);
    if (t_ == 0) {
      shared_stats_[2 * (warp_ * kAttentionHeads + g_)] = max_;
      shared_stats_[2 * (warp_ * kAttentionHeads + g_) + 1] = sum;
    }
    __syncthreads();
    if (warp_ < work_.heads.count) JoinWarps(tile, warp_);
    __syncthreads();
  }

  __device__ void JoinWarps(int tile, int head) const {
    const int size = task_.kv.value_size;
    float max = MinusInfinity();
#pragma unroll
    for (int w = 0; w < kAttentionWarps; ++w) {
      max = MaxOf(max, shared_stats_[2 * (w * kAttentionHeads + head)]);
    }
    float factors[kAttentionWarps];
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kAttentionWarps; ++w) {
      const float* const stats = shared_stats_ + 2 * (w * kAttentionHeads + head);
      factors[w] = JoinFactor(stats[0], stats[1], max);
      sum = f32::Fma(stats[1], factors[w], sum);
    }
    if (work_.tiles.count == 1) {
      const OnlyTile only = JoinOnlyTile(task_, work_, head, max, sum);
      ForValuesOfWarps(head, factors, [&](int dim, float value) {
        only_output_[head * size + dim] = f32::Div(f32::Mul(value, only.factor), only.divisor);
      });
      return;
    }
    const PartialPlaces places =
        PartialPlacesOf(task_.num_rows, work_.num_chunks, size, work_.row, work_.chunk, tile);
    ForValuesOfWarps(head, factors, [&](int dim, float value) {
      task_.partials[places.values + head * size + dim] = value;
    });
    if (threadIdx.x % 32 != 0) return;
    task_.partials[places.stats + 2 * head] = max;
    task_.partials[places.stats + 2 * head + 1] = sum;
  }

  // use(dimension, value): of this lane.
  template <typename Use>
  __device__ void ForValuesOfWarps(int head, const float (&factors)[kAttentionWarps],
                                   Use use) const {
#pragma unroll
    for (int k = 0; k < kValuePlaces<kValueParts> / 32; ++k) {
      const int place = threadIdx.x % 32 + 32 * k;
      float value = 0.0f;
#pragma unroll
      for (int w = 0; w < kAttentionWarps; ++w) {
        const float* const values = shared_values_ + (w * kAttentionHeads + head) * kStride;
        value = f32::Fma(values[place], factors[w], value);
      }
      const int dim = WarpElements::DimensionAt(place);
      if (dim < task_.kv.value_size) use(dim, value);
    }
  }

  const AttendTask& task_;
  const AttentionRow& work_;
  float* const only_output_;    // [kAttentionHeads][value_size]
  float* const shared_values_;  // [kAttentionWarps][kAttentionHeads][kStride]
  float* const shared_stats_;   // [kAttentionWarps][kAttentionHeads][2]
  const int g_;                 // Head on the left side, position or dimension on the right.
  const int t_;
  const int warp_;
  bool is_loaded_ = false;  // The first run, for this warp.
  float score_scale_;
  uint32_t queries_[2 * kKeyParts][4];
  WarpElements elements_;
  // The warp's softmax of head g: of this lane's positions alone where it is a sum.
  float max_ = MinusInfinity();
  float sum_ = 0.0f;
};

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_TENSOR_TILES_H_
