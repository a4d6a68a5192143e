// What a block of a prompt's product kernel works on, and what becomes of its results: shared by
// the kernels of int8 and of f32 activations.
//
// A block has kPromptTileWeights rows of weights and kActivations vectors, a warp 32 of the former
// (warp % 4) and 8 kTiles of the latter, from 8 kTiles (warp / 4) on. Where gate and up are computed
// together, a warp's first 16 rows are gate's and its second 16 the same ones of up, so a thread
// has both values.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_TILE_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_TILE_CUH_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/gated_value.h"
#include "strata/generate/kernels/cuda/prompt_arguments.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// In shared memory.
template <int kActivations>
struct PromptTileRows {
  const uint8_t* weights[kPromptTileWeights];  // Where each row begins.
  int vectors[kActivations];                   // Of x; some vector behind the last one.
  int entries[kActivations];
  int count;      // Of entries.
  int expert;     // Of the tile.
  int target;     // Of a single matrix.
  int first_row;  // Of weights.
};

__device__ __forceinline__ const std::byte* MatrixOf(const PromptArguments& p, int target,
                                                     int expert) {
  const PromptTarget& matrix = p.targets[target];
  if (p.experts == nullptr) return matrix.data;
  return p.experts[expert].parts[matrix.part] + matrix.offset;
}

// The vectors of a block; an empty tile when there are none. blockIdx.y counts them.
template <int kActivations>
__device__ __forceinline__ PromptTile VectorsOfBlock(const PromptArguments& p) {
  const int index = blockIdx.y;
  PromptTile found;
  if (p.tiles == nullptr) {
    found.begin = index * kActivations;
    found.count = min(kActivations, p.num_rows - found.begin);
    return found;
  }
  const int parts = max(1, p.tile_entries / kActivations);
  if (index / parts >= *p.num_tiles) return found;
  found = p.tiles[index / parts];
  const int skipped = index % parts * kActivations;
  found.begin += skipped;
  found.count = min(kActivations, found.count - skipped);
  return found;
}

// False when the block has nothing to do. blockIdx.x is the tile of weights. A barrier for the
// block.
template <int kActivations>
__device__ __forceinline__ bool FindTile(const PromptArguments& p,
                                         PromptTileRows<kActivations>& rows) {
  const PromptTile found = VectorsOfBlock<kActivations>(p);
  if (found.count <= 0) return false;
  int target = 0;
  const int weight_tile = blockIdx.x;
  while (!p.is_gated && target + 1 < p.num_targets &&
         p.targets[target + 1].first_tile <= weight_tile) {
    ++target;
  }
  const int tile_rows = p.is_gated ? kPromptTileWeights / 2 : kPromptTileWeights;
  const int first_row = (weight_tile - p.targets[target].first_tile) * tile_rows;
  const int thread = threadIdx.x;
  if (thread == 0) {
    rows.count = found.count;
    rows.expert = found.expert;
    rows.target = target;
    rows.first_row = first_row;
  }
  if (thread < kPromptTileWeights) {
    const int part = p.is_gated ? thread / 16 % 2 : 0;
    const int row = first_row + (p.is_gated ? thread / 32 * 16 + thread % 16 : thread);
    const auto* const data =
        reinterpret_cast<const uint8_t*>(MatrixOf(p, target + part, found.expert));
    // Rows behind the last one are computed like it and not stored.
    rows.weights[thread] = data + min(row, p.targets[target].rows - 1) * p.row_bytes;
  } else if (thread - kPromptTileWeights < kActivations) {
    const int i = thread - kPromptTileWeights;
    const int index = found.begin + min(i, found.count - 1);
    const int entry = p.entries == nullptr ? index : p.entries[index];
    rows.entries[i] = entry;
    rows.vectors[i] = entry / p.entries_per_vector;
  }
  __syncthreads();
  return true;
}

// weights x, scaled and moved; reported when it is not finite.
__device__ __forceinline__ float LinearValue(const PromptArguments& p, const PromptTarget& target,
                                             int expert, int row, int entry, float value) {
  if (!f32::IsFinite(value)) ReportPromptFault(target.fault, entry / p.entries_per_row);
  const float scale = target.scales == nullptr ? target.scale : target.scales[expert];
  if (scale != 1.0f) value = f32::Mul(value, scale);
  if (target.bias != nullptr) {
    value = f32::Add(value, target.bias[int64_t{expert} * target.rows + row]);
  }
  return value;
}

// Results of a thread: [half of the warp's rows][8 activations][fragment].
template <int kTiles, int kActivations>
__device__ __forceinline__ void StoreResults(const PromptArguments& p,
                                             const PromptTileRows<kActivations>& rows,
                                             const float (&results)[2][kTiles][4]) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const PromptTarget& target = p.targets[rows.target];
  const int expert = rows.expert;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int activation = warp / 4 * 8 * kTiles + 8 * n + lane % 4 * 2 + i % 2;
      if (activation >= rows.count) continue;
      const int entry = rows.entries[activation];
      const int64_t begin = int64_t{entry} * target.rows;
      const int row_in_half = lane / 4 + i / 2 * 8;
      if (p.is_gated) {
        const int row = rows.first_row + warp % 4 * 16 + row_in_half;
        if (row >= target.rows) continue;
        const float gate = LinearValue(p, target, expert, row, entry, results[0][n][i]);
        const float up = LinearValue(p, p.targets[1], expert, row, entry, results[1][n][i]);
        target.y[begin + row] = GatedValue(p.activation, gate, up);
        continue;
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int row = rows.first_row + warp % 4 * 32 + 16 * m + row_in_half;
        if (row >= target.rows) continue;
        float value = LinearValue(p, target, expert, row, entry, results[m][n][i]);
        if (target.divisor != 1.0f) value = f32::Div(value, target.divisor);
        if (target.residual != nullptr) {
          value = f32::Add(target.residual[begin + row], f32::Mul(target.residual_scale, value));
        }
        target.y[begin + row] = value;
      }
    }
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_TILE_CUH_
