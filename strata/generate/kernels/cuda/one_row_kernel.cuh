// The products of a step of one row, for one type of weights: three small kernels that do nothing
// else, since such a step is the sum of what each kernel waits for. A block asks for all its
// weights at once, before it waits for the kernel before wherever they are known by then, and
// computes groups side by side, one a thread.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_KERNEL_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_KERNEL_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/gated_value.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/one_row_shared.cuh"
#include "strata/generate/kernels/cuda/product_block.cuh"
#include "strata/generate/kernels/cuda/product_loads.cuh"
#include "strata/generate/kernels/cuda/product_results.cuh"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// The vector of kDense and kGated, after the wait.
template <BlockType kType>
__device__ __forceinline__ void TakeVector(const OneRowParameters& p) {
  if (p.x.q != nullptr) return LoadVector<kType>(p.shape, p.x);
  for (int group = threadIdx.x / 32; group < p.shape.groups; group += blockDim.x / 32) {
    QuantizeGroup<kType>(p.shape, p.x.values, group, shared_memory + p.shape.vectors);
  }
}

// A tile of one of the outputs.
template <BlockType kType>
__global__ __launch_bounds__(kMaxOneRowThreads) void OneRowDense(
    const __grid_constant__ OneRowParameters p) {
  const OneRowShape& shape = p.shape;
  const auto tile = static_cast<int>(blockIdx.x);
  int output = 0;
#pragma unroll
  for (int i = 1; i < 4; ++i) output += tile >= p.outputs[i].first_tile ? 1 : 0;
  const DenseTarget& target = p.outputs[output];
  const int first_row = (tile - target.first_tile) << shape.log_tile_rows;
  const int rows = min(1 << shape.log_tile_rows, target.matrix.rows - first_row);
  const uint64_t from = reinterpret_cast<uint64_t>(target.matrix.data) +
                        static_cast<uint64_t>(first_row) * shape.row_bytes;
  const auto load = [&] { LoadSegment(0, from, rows * shape.row_bytes, threadIdx.x, blockDim.x); };
  if (p.early_weights) load();
  LoadGrid<kType>(shape);
  if (threadIdx.x == 0) Shared<int>(shape.begins)[0] = static_cast<int>(from & 15u);
  WaitForPredecessor();
  ReleaseSuccessor();
  if (!p.early_weights) load();
  TakeVector<kType>(p);
  const int row = first_row + threadIdx.x;
  const bool has_row = threadIdx.x < rows;
  const float residual = has_row && target.residual != nullptr ? __ldcg(target.residual + row) : 0;
  WaitForCopies();
  __syncthreads();
  SumGroups<kType>(shape, rows, /*vector_each=*/false);
  __syncthreads();
  if (!has_row) return;
  const float value = SumOfRow(shape, threadIdx.x);
  if (!f32::IsFinite(value)) ReportFault(target.matrix.fault, p.fault_row);
  const float y = DenseValue(target, row, value);
  target.y[row] =
      target.residual == nullptr ? y : f32::Add(residual, f32::Mul(y, target.residual_scale));
}

// A tile of gate and up of one expert, or of those that all rows share.
template <BlockType kType>
__global__ __launch_bounds__(kMaxOneRowThreads) void OneRowGated(
    const __grid_constant__ OneRowParameters p) {
  const OneRowShape& shape = p.shape;
  const GatedTarget& target = p.gated;
  const auto block = static_cast<int>(blockIdx.x);
  const int rank = block / p.tiles;
  const int tile_rows = 1 << shape.log_tile_rows;
  const int first_row = (block - rank * p.tiles) << shape.log_tile_rows;
  const int rows = min(tile_rows, target.gate.rows - first_row);
  const uint64_t skipped = static_cast<uint64_t>(first_row) * shape.row_bytes;
  const auto load = [&](uint64_t gate, uint64_t up) {
    const int bytes = rows * shape.row_bytes;
    const int half = blockDim.x / 2;
    const bool is_up = threadIdx.x >= half;
    LoadSegment(is_up ? shape.segment_stride : 0, (is_up ? up : gate) + skipped, bytes,
                is_up ? threadIdx.x - half : threadIdx.x, half);
    if (threadIdx.x < 2) {
      Shared<int>(shape.begins)[threadIdx.x] =
          static_cast<int>(((threadIdx.x == 0 ? gate : up) + skipped) & 15u);
    }
  };
  const auto load_shared = [&] {
    load(reinterpret_cast<uint64_t>(target.gate.data), reinterpret_cast<uint64_t>(target.up.data));
  };
  const bool is_early = p.early_weights && p.experts == nullptr;
  if (is_early) load_shared();
  LoadGrid<kType>(shape);
  WaitForPredecessor();
  ReleaseSuccessor();
  int expert = 0;
  if (p.experts != nullptr) {
    expert = ChoiceOf(p.routing, rank);
    const DeviceExpert& entry = p.experts[expert];
    const uint64_t gate = AddressOf(entry, target.gate), up = AddressOf(entry, target.up);
    load(gate, up);
  } else if (!is_early) {
    load_shared();
  }
  TakeVector<kType>(p);
  WaitForCopies();
  __syncthreads();
  SumGroups<kType>(shape, rows, /*vector_each=*/false);
  __syncthreads();
  const int place = threadIdx.x;
  const int segment = place >> shape.log_tile_rows;
  const int row = first_row + (place & (tile_rows - 1));
  if (segment < 2 && row < target.gate.rows) {
    const MatrixOutput& matrix = segment == 0 ? target.gate : target.up;
    const float value = SumOfRow(shape, place);
    if (!f32::IsFinite(value)) ReportFault(matrix.fault, p.fault_row);
    Shared<float>(shape.outputs)[place] = ScaleAndAddBias(matrix, expert, row, value);
  }
  __syncthreads();
  if (place >= rows) return;
  const float* const outputs = Shared<float>(shape.outputs);
  const float value = GatedValue(target.activation, outputs[place], outputs[tile_rows + place]);
  if (!f32::IsFinite(value)) ReportFault(target.fault, p.fault_row);
  target.hidden.values[int64_t{rank} * target.gate.rows + row] = value;
}

// Rows of down of all chosen experts, and their sum in the order of rank.
template <BlockType kType>
__global__ __launch_bounds__(kMaxOneRowThreads) void OneRowSum(
    const __grid_constant__ OneRowParameters p) {
  const OneRowShape& shape = p.shape;
  const SumTarget& target = p.sum;
  const int tile_rows = 1 << shape.log_tile_rows;
  const int first_row = static_cast<int>(blockIdx.x) << shape.log_tile_rows;
  const int rows = min(tile_rows, target.down.rows - first_row);
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32;
  const auto load = [&] {
    for (int rank = warp; rank < shape.segments; rank += warps) {
      const int expert = ChoiceOf(p.routing, rank);
      const uint64_t from = AddressOf(p.experts[expert], target.down) +
                            static_cast<uint64_t>(first_row) * shape.row_bytes;
      LoadSegment(rank * shape.segment_stride, from, rows * shape.row_bytes, lane, 32);
      if (lane != 0) continue;
      Shared<int>(shape.begins)[rank] = static_cast<int>(from & 15u);
      Shared<int>(shape.choices)[rank] = expert;
      Shared<float>(shape.weights)[rank] = __ldcg(p.routing.weights + rank);
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
  for (int unit = warp; unit < shape.segments * shape.groups; unit += warps) {
    const int rank = unit / shape.groups;
    QuantizeGroup<kType>(shape, p.x.values + int64_t{rank} * shape.columns,
                         unit - rank * shape.groups,
                         shared_memory + shape.vectors + rank * shape.vector_stride);
  }
  WaitForCopies();
  __syncthreads();
  SumGroups<kType>(shape, rows, /*vector_each=*/true);
  __syncthreads();
  float* const outputs = Shared<float>(shape.outputs);
  for (int place = threadIdx.x; place < shape.segments << shape.log_tile_rows;
       place += blockDim.x) {
    const int rank = place >> shape.log_tile_rows;
    const int own = place & (tile_rows - 1);
    if (own >= rows) continue;
    const float value = SumOfRow(shape, place);
    if (!f32::IsFinite(value)) ReportFault(target.down.fault, p.fault_row);
    outputs[place] =
        ScaleAndAddBias(target.down, Shared<int>(shape.choices)[rank], first_row + own, value);
  }
  __syncthreads();
  if (!has_row) return;
  float y = 0.0f;
  for (int rank = 0; rank < shape.segments; ++rank) {
    y = f32::Fma(Shared<float>(shape.weights)[rank],
                 outputs[(rank << shape.log_tile_rows) + threadIdx.x], y);
  }
  if (target.shared != nullptr) {
    const float share = target.shared_gate == nullptr ? 1.0f : f32::Sigmoid(gate);
    y = f32::Fma(share, shared, y);
  }
  target.y[row] =
      target.residual == nullptr ? y : f32::Add(residual, f32::Mul(y, target.residual_scale));
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_KERNEL_CUH_
