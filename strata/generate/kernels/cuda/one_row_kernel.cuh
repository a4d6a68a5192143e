// The products of a step of one row, for one type of weights: three small kernels that do nothing
// else, since such a step is the sum of what each kernel waits for. A warp asks for all weights of
// its tile at once, before it waits for the kernel before wherever they are known by then, and
// computes them as soon as they are there, whatever other warps wait for: groups side by side, one a
// lane, then each row's groups in order.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_KERNEL_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_KERNEL_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/expert_state.h"
#include "strata/generate/kernels/cuda/gated_value.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/one_row_shared.cuh"
#include "strata/generate/kernels/cuda/product_block.cuh"
#include "strata/generate/kernels/cuda/product_loads.cuh"
#include "strata/generate/kernels/cuda/product_results.cuh"
#include "strata/generate/kernels/cuda/residual_row.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// The vector of kDense and kGated, by the block, after the wait; ends with a barrier.
template <BlockType kType>
__device__ __forceinline__ void TakeVector(const OneRowParameters& p) {
  if (p.norm.x != nullptr) {
    NormVector<kType>(p.shape, p.norm, p.fault_row);
  } else if (p.x.q != nullptr) {
    LoadVector<kType>(p.shape, p.x);
  } else {
    QuantizeGroups<kType>(p.shape, p.x.values, threadIdx.x / 32, blockDim.x / 32,
                          shared_memory + p.shape.vectors);
  }
  __syncthreads();
}

// The warp's weights are there.
__device__ __forceinline__ void WaitForTile() {
  WaitForCopies();
  __syncwarp();
}

// A tile of one of the outputs.
template <BlockType kType>
__global__ __launch_bounds__(32 * kOneRowWarps, kOneRowBlocks) void OneRowDense(
    const __grid_constant__ OneRowParameters p) {
  const OneRowShape& shape = p.shape;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int tile = static_cast<int>(blockIdx.x * (blockDim.x / 32)) + warp;
  int output = 0;
#pragma unroll
  for (int i = 1; i < 4; ++i) output += tile >= p.outputs[i].first_tile ? 1 : 0;
  const DenseTarget& target = p.outputs[output];
  const int first_row = (tile - target.first_tile) * shape.tile_rows;
  const int rows = tile < p.tiles ? min(shape.tile_rows, target.matrix.rows - first_row) : 0;
  const uint64_t from = reinterpret_cast<uint64_t>(target.matrix.data) +
                        static_cast<uint64_t>(first_row) * shape.row_bytes;
  if (p.early_weights) LoadSegment(shape, warp, from, rows);
  LoadGrid<kType>(shape);
  if (p.norm.x != nullptr) PrefetchNormWeights(p.norm);
  WaitForPredecessor();
  ReleaseSuccessor();
  if (!p.early_weights) LoadSegment(shape, warp, from, rows);
  const int row = first_row + lane;
  const bool adds = lane < rows && target.residual != nullptr;
  const float residual = adds ? __ldcg(target.residual + row) : 0.0f;
  TakeVector<kType>(p);
  WaitForTile();
  SumGroups<kType>(shape, Segments<1>{warp, {from}}, rows, 0);
  if (lane >= rows) return;
  const float value = SumOfRow(shape, warp, lane);
  if (!f32::IsFinite(value)) ReportFault(target.matrix.fault, p.fault_row);
  const float y = DenseValue(target, row, value);
  target.y[row] = adds ? f32::Add(residual, f32::Mul(y, target.residual_scale)) : y;
}

// Whether a chosen expert is computed elsewhere.
__device__ __forceinline__ bool IsMailed(const OneRowParameters& p, int expert) {
  return !IsInSlot(p.experts[expert]);
}

// A tile of gate and up of one expert, or of those that all rows share. kMailed: experts in no slot are
// left out.
template <BlockType kType, bool kMailed>
__global__ __launch_bounds__(32 * kOneRowWarps, kOneRowBlocks) void OneRowGated(
    const __grid_constant__ OneRowParameters p) {
  const OneRowShape& shape = p.shape;
  const GatedTarget& target = p.gated;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int number = static_cast<int>(blockIdx.x * (blockDim.x / 32)) + warp;
  const int rank = number / p.tiles;
  const int num_experts = p.experts == nullptr ? 1 : p.routing.num_chosen;
  const int first_row = (number - rank * p.tiles) * shape.tile_rows;
  int rows = rank < num_experts ? min(shape.tile_rows, target.gate.rows - first_row) : 0;
  const uint64_t skipped = static_cast<uint64_t>(first_row) * shape.row_bytes;
  Segments<2> segments = {2 * warp,
                          {reinterpret_cast<uint64_t>(target.gate.data) + skipped,
                           reinterpret_cast<uint64_t>(target.up.data) + skipped}};
  const auto load = [&] {
    LoadSegment(shape, segments.first, segments.from[0], rows);
    LoadSegment(shape, segments.first + 1, segments.from[1], rows);
  };
  const bool is_early = p.early_weights && p.experts == nullptr;
  if (is_early) load();
  LoadGrid<kType>(shape);
  if (p.norm.x != nullptr) PrefetchNormWeights(p.norm);
  WaitForPredecessor();
  ReleaseSuccessor();
  int expert = 0;
  if (p.experts != nullptr && rows > 0) {
    expert = ChoiceOf(p.routing, rank);
    segments.from[0] = AddressOf(p.experts[expert], target.gate) + skipped;
    segments.from[1] = AddressOf(p.experts[expert], target.up) + skipped;
    if constexpr (kMailed) {
      // No byte of it is asked for, wherever it lies.
      if (IsMailed(p, expert)) {
        rows = 0;
        segments.from[0] = segments.from[1] = 0;
      }
    }
  }
  if (!is_early) load();
  TakeVector<kType>(p);
  WaitForTile();
  SumGroups<kType>(shape, segments, rows, 0);
  // A row's gate and up are in neighbouring lanes.
  const int row = first_row + lane / 2;
  const bool has_row = lane < 2 * rows;
  float value = 0.0f;
  if (has_row) {
    const MatrixOutput& matrix = lane % 2 == 0 ? target.gate : target.up;
    value = SumOfRow(shape, segments.first + lane % 2, lane / 2);
    if (!f32::IsFinite(value)) ReportFault(matrix.fault, p.fault_row);
    value = ScaleAndAddBias(matrix, expert, row, value);
  }
  const float other = __shfl_xor_sync(0xffffffffu, value, 1);
  if (!has_row || lane % 2 != 0) return;
  const float hidden = GatedValue(target.activation, value, other);
  if (!f32::IsFinite(hidden)) ReportFault(target.fault, p.fault_row);
  target.hidden.values[int64_t{rank} * target.gate.rows + row] = hidden;
}

// Rows of down of all chosen experts, a warp an expert, and their sum in the order of rank. kMailed: of
// experts in no slot they are there already.
template <BlockType kType, bool kMailed>
__global__ __launch_bounds__(32 * kMaxSumWarps,
                             1) void OneRowSum(const __grid_constant__ OneRowParameters p) {
  const OneRowShape& shape = p.shape;
  const SumTarget& target = p.sum;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int num_chosen = p.routing.num_chosen;
  const int first_row = static_cast<int>(blockIdx.x) * shape.tile_rows;
  const int rows = min(shape.tile_rows, target.down.rows - first_row);
  const auto load = [&] {
    for (int rank = warp; rank < num_chosen; rank += warps) {
      const int expert = ChoiceOf(p.routing, rank);
      uint64_t from = AddressOf(p.experts[expert], target.down) +
                      static_cast<uint64_t>(first_row) * shape.row_bytes;
      if constexpr (kMailed) {
        if (IsMailed(p, expert)) from = 0;
      }
      if (!kMailed || from != 0) LoadSegment(shape, rank, from, rows);
      if (lane != 0) continue;
      Shared<OneRowRank>(shape.ranks)[rank] = {
          .from = from, .expert = expert, .weight = __ldcg(p.routing.weights + rank)};
    }
  };
  if (p.early_choice) load();
  LoadGrid<kType>(shape);
  WaitForPredecessor();
  ReleaseSuccessor();
  if (!p.early_choice) load();
  const int row = first_row + threadIdx.x;
  const bool has_row = threadIdx.x < rows;
  const float residual = has_row && target.residual != nullptr ? __ldcg(target.residual + row) : 0;
  const float shared = has_row && target.shared != nullptr ? __ldcg(target.shared + row) : 0;
  const float gate = target.shared_gate == nullptr ? 0 : __ldcg(target.shared_gate);
  for (int rank = warp; rank < num_chosen; rank += warps) {
    QuantizeGroups<kType>(shape, p.x.values + int64_t{rank} * shape.columns, 0, 1,
                          shared_memory + shape.vectors + rank * shape.vector_stride);
  }
  if constexpr (GroupFormatOf(kType).grid_words > 0) __syncthreads();  // The grid is there.
  WaitForTile();
#pragma unroll 1
  for (int rank = warp; rank < num_chosen; rank += warps) {
    const OneRowRank& own = Shared<OneRowRank>(shape.ranks)[rank];
    float* const outputs = Shared<float>(shape.outputs) + rank * shape.tile_rows;
    if constexpr (kMailed) {
      if (own.from == 0) {
        if (lane >= rows) continue;
        outputs[lane] = __ldcg(p.mailed + int64_t{rank} * target.down.rows + first_row + lane);
        continue;
      }
    }
    SumGroups<kType>(shape, Segments<1>{rank, {own.from}}, rows, rank);
    if (lane >= rows) continue;
    const float value = SumOfRow(shape, rank, lane);
    if (!f32::IsFinite(value)) ReportFault(target.down.fault, p.fault_row);
    outputs[lane] = ScaleAndAddBias(target.down, own.expert, first_row + lane, value);
  }
  __syncthreads();
  if (!has_row) return;
  const float* const outputs = Shared<float>(shape.outputs) + threadIdx.x;
  float y = 0.0f;
  for (int rank = 0; rank < num_chosen; ++rank) {
    y = f32::Fma(Shared<OneRowRank>(shape.ranks)[rank].weight, outputs[rank * shape.tile_rows], y);
  }
  if (target.shared != nullptr) {
    y = f32::Fma(target.shared_gate == nullptr ? 1.0f : f32::Sigmoid(gate), shared, y);
  }
  target.y[row] =
      target.residual == nullptr ? y : f32::Add(residual, f32::Mul(y, target.residual_scale));
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_KERNEL_CUH_
