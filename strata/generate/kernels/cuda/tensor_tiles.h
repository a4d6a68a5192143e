// Tiles of attention by tensor cores: f16 keys and values, head sizes up to 32 kKeyParts and 64
// kValueParts. Device code.
//
// A run is 128 positions, of which each of 8 warps has 16 with a softmax of its own; after the last
// run of a tile the warps' softmaxes are joined in order. The matrices are m16n8k16: rows 0 to 7 of
// the left side are the heads, with the upper half of each number, rows 8 to 15 the same heads with
// what the upper half lost. So both halves of a result meet in one lane, which adds them. Scores:
// queries times keys, 8 positions at a time. Output: probabilities times values, where a lane's
// probabilities are already where the left side wants them.
//
// Which dimension is which column or depth of a matrix is free, so lanes load 16 neighbouring
// bytes: lane (g, t) = (lane / 4, lane % 4) has dimensions 32 c + 8 t .. + 7 of the key of position
// g, and dimensions 64 c + 8 g .. + 7 of the values of positions 2t, 2t + 1, 2t + 8, 2t + 9.
//
// While a run is computed, the keys and values of the block's next one are on their way.
#ifndef STRATA_GENERATE_KERNELS_CUDA_TENSOR_TILES_H_
#define STRATA_GENERATE_KERNELS_CUDA_TENSOR_TILES_H_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/attention_row.h"
#include "strata/generate/kernels/cuda/half_products.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

inline constexpr int kWarpPositions = 16;

// Of the joined softmaxes: a warp's weighted values, then maxima and sums.
constexpr size_t TensorSharedBytes(int value_size) {
  return size_t{kAttentionWarps} * kAttentionHeads * (value_size + 2) * sizeof(float);
}

#ifdef __CUDACC__

template <int kKeyParts, int kValueParts>
class TensorTiles {
 public:
  __device__ TensorTiles(const AttendTask& task, const AttentionRow& work, float* shared)
      : task_(task),
        work_(work),
        shared_values_(shared),
        shared_stats_(shared + kAttentionWarps * kAttentionHeads * task.kv.value_size),
        g_(threadIdx.x % 32 / 4),
        t_(threadIdx.x % 4),
        warp_(threadIdx.x / 32) {
    LoadQueries();
  }

  // Tiles [first, first + step, ...) of the row.
  __device__ void Run(int first, int step) {
    Cursor cursor = Begin(first);
    if (cursor.tile >= work_.tiles.count) return;
    LoadKeys(cursor);
    LoadValues(cursor);
    while (cursor.tile < work_.tiles.count) {
      const Cursor next = Next(cursor, step);
      const bool is_busy = Sees(cursor);
      float weights[2][2] = {};
      if (is_busy) ComputeScores(weights);
      LoadKeys(next);
      if (is_busy) {
        ComputeWeights(cursor, weights);
        AddValues(weights);
      }
      LoadValues(next);
      if (next.tile != cursor.tile) {
        StoreTile(cursor.tile);
        Clear();
      }
      cursor = next;
    }
  }

 private:
  // A run of this block: where its first position is. And of this warp: its page.
  struct Cursor {
    int tile;
    int begin;
    int end;  // Of the tile, or of what the row sees.
    const std::byte* page;
  };

  __device__ Cursor Begin(int tile) const {
    if (tile >= work_.tiles.count) return {tile, 0, 0, nullptr};
    const int tile_begin = (work_.tiles.first_tile + tile) << work_.tiles.size_bits;
    Cursor cursor;
    cursor.tile = tile;
    cursor.begin = max(tile_begin, work_.tiles.first) / kAttentionRun * kAttentionRun;
    cursor.end = min(tile_begin + work_.tiles.size(), work_.position + 1);
    cursor.page = PageOf(cursor);
    return cursor;
  }

  __device__ Cursor Next(const Cursor& cursor, int step) const {
    Cursor next = cursor;
    next.begin += kAttentionRun;
    if (next.begin >= next.end) return Begin(cursor.tile + step);
    next.page = PageOf(next);
    return next;
  }

  __device__ int WarpBegin(const Cursor& cursor) const {
    return cursor.begin + warp_ * kWarpPositions;
  }
  // Whether the row sees any position of the warp.
  __device__ bool Sees(const Cursor& cursor) const {
    const int begin = WarpBegin(cursor);
    return begin < cursor.end && begin + kWarpPositions > work_.tiles.first;
  }
  __device__ bool Sees(const Cursor& cursor, int position) const {
    return work_.tiles.first <= position && position < cursor.end;
  }
  __device__ const std::byte* PageOf(const Cursor& cursor) const {
    if (!Sees(cursor)) return nullptr;
    return task_.page_table[work_.first_page + WarpBegin(cursor) / kKvPagePositions];
  }

  // Queries are divided by a power of two, so that their halves are neither too large nor too
  // small.
  __device__ void LoadQueries() {
    const int size = task_.kv.key_size;
    const bool has_head = g_ < work_.heads.count;
    const int64_t head = int64_t{work_.row} * task_.num_heads + work_.heads.first_head + g_;
    const float* const from = task_.queries + (has_head ? head : 0) * size;
    float values[kKeyParts][8] = {};
    uint32_t max = 0;
#pragma unroll
    for (int c = 0; c < kKeyParts; ++c) {
      const int dim = 32 * c + 8 * t_;
      if (has_head && dim < size) {
        const float4 low = *reinterpret_cast<const float4*>(from + dim);
        const float4 high = *reinterpret_cast<const float4*>(from + dim + 4);
        const float eight[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int i = 0; i < 8; ++i) values[c][i] = eight[i];
      }
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

  __device__ void LoadKeys(const Cursor& cursor) {
    const int size = task_.kv.key_size;
    const std::byte* const run = cursor.page + task_.kv.keys_offset(work_.heads.kv_head);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const int position = WarpBegin(cursor) + 8 * n + g_;
      const bool is_seen = Sees(cursor, position);
      const std::byte* const row = run + position % kKvPagePositions * size * 2;
#pragma unroll
      for (int c = 0; c < kKeyParts; ++c) {
        const int dim = 32 * c + 8 * t_;
        keys_[n][c] = LoadOrZero(row + dim * 2, is_seen && dim < size);
      }
    }
  }

  __device__ void LoadValues(const Cursor& cursor) {
    const int size = task_.kv.value_size;
    const std::byte* const run = cursor.page + task_.kv.values_offset(work_.heads.kv_head);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int position = WarpBegin(cursor) + 2 * t_ + k % 2 + k / 2 * 8;
      const bool is_seen = Sees(cursor, position);
      const std::byte* const row = run + position % kKvPagePositions * size * 2;
#pragma unroll
      for (int c = 0; c < kValueParts; ++c) {
        const int dim = 64 * c + 8 * g_;
        values_[k][c] = LoadOrZero(row + dim * 2, is_seen && dim < size);
      }
    }
  }

  // scores[n][i]: of head g with position 8 n + 2 t + i of the warp.
  __device__ void ComputeScores(float (&scores)[2][2]) const {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      float sums[4] = {};
#pragma unroll
      for (int c = 0; c < kKeyParts; ++c) {
        MultiplyHalves(queries_[2 * c], keys_[n][c].x, keys_[n][c].y, sums);
        MultiplyHalves(queries_[2 * c + 1], keys_[n][c].z, keys_[n][c].w, sums);
      }
      scores[n][0] = f32::Mul(score_scale_, f32::Add(sums[0], sums[2]));
      scores[n][1] = f32::Mul(score_scale_, f32::Add(sums[1], sums[3]));
    }
  }

  // Scores become weights under the maximum so far; what was summed before is brought under it.
  __device__ void ComputeWeights(const Cursor& cursor, float (&weights)[2][2]) {
    bool is_seen[2][2];
    float max = max_;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        is_seen[n][i] = Sees(cursor, WarpBegin(cursor) + 8 * n + 2 * t_ + i);
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
#pragma unroll
    for (int j = 0; j < 8 * kValueParts; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) out_[j][i] = f32::Mul(out_[j][i], factor);
    }
  }

  __device__ void AddValues(const float (&weights)[2][2]) {
    uint32_t left[4];
    SplitPair(weights[0][0], weights[0][1], left[0], left[1]);
    SplitPair(weights[1][0], weights[1][1], left[2], left[3]);
#pragma unroll
    for (int c = 0; c < kValueParts; ++c) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const uint32_t a = WordOf(values_[0][c], word);
        const uint32_t b = WordOf(values_[1][c], word);
        const uint32_t d = WordOf(values_[2][c], word);
        const uint32_t e = WordOf(values_[3][c], word);
        // The lower halves of two positions, and the upper ones: two neighbouring dimensions.
        MultiplyHalves(left, __byte_perm(a, b, 0x5410), __byte_perm(d, e, 0x5410),
                       out_[8 * c + 2 * word]);
        MultiplyHalves(left, __byte_perm(a, b, 0x7632), __byte_perm(d, e, 0x7632),
                       out_[8 * c + 2 * word + 1]);
      }
    }
  }

  static __device__ uint32_t WordOf(const uint4& words, int i) {
    return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
  }

  __device__ void Clear() {
    max_ = MinusInfinity();
    sum_ = 0.0f;
#pragma unroll
    for (int j = 0; j < 8 * kValueParts; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) out_[j][i] = 0.0f;
    }
  }

  // Joins the warps in order. Barriers for the block.
  __device__ void StoreTile(int tile) {
    const int size = task_.kv.value_size;
    float sum = f32::Add(sum_, __shfl_xor_sync(kAllLanes, sum_, 1));
    sum = f32::Add(sum, __shfl_xor_sync(kAllLanes, sum, 2));
    float* const own_values = shared_values_ + (warp_ * kAttentionHeads + g_) * size;
#pragma unroll
    for (int c = 0; c < kValueParts; ++c) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {  // Columns 2t and 2t + 1: eight dimensions each.
        const int dim = 64 * c + 16 * t_ + 8 * i;
        if (dim >= size) continue;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          own_values[dim + j] = f32::Add(out_[8 * c + j][i], out_[8 * c + j][i + 2]);
        }
      }
    }
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
    const int lane = threadIdx.x % 32;
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
    const PartialPlaces places =
        PartialPlacesOf(task_.num_rows, work_.num_chunks, size, work_.row, work_.chunk, tile);
    for (int dim = lane; dim < size; dim += 32) {
      float value = 0.0f;
#pragma unroll
      for (int w = 0; w < kAttentionWarps; ++w) {
        value =
            f32::Fma(shared_values_[(w * kAttentionHeads + head) * size + dim], factors[w], value);
      }
      task_.partials[places.values + head * size + dim] = value;
    }
    if (lane != 0) return;
    task_.partials[places.stats + 2 * head] = max;
    task_.partials[places.stats + 2 * head + 1] = sum;
  }

  const AttendTask& task_;
  const AttentionRow& work_;
  float* const shared_values_;  // [kAttentionWarps][kAttentionHeads][value_size]
  float* const shared_stats_;   // [kAttentionWarps][kAttentionHeads][2]
  const int g_;                 // Head on the left side, position or dimension on the right.
  const int t_;
  const int warp_;
  float score_scale_;
  uint32_t queries_[2 * kKeyParts][4];
  uint4 keys_[2][kKeyParts];
  uint4 values_[4][kValueParts];
  // The warp's softmax of head g: of this lane's positions alone where it is a sum.
  float max_ = MinusInfinity();
  float sum_ = 0.0f;
  float out_[8 * kValueParts][4] = {};
};

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_TENSOR_TILES_H_
