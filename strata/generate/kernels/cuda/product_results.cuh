// From the sums of groups to what a product is for.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_RESULTS_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_RESULTS_CUH_

#include <cstdint>

#include "strata/generate/kernels/cuda/gated_value.h"
#include "strata/generate/kernels/cuda/product_block.cuh"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/cuda/warp_quantizer.cuh"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// scale * value + bias
__device__ __forceinline__ float ScaleAndAddBias(const MatrixOutput& matrix, int expert_index,
                                                 int row, float value) {
  const float scale = matrix.scales != nullptr ? matrix.scales[expert_index] : matrix.scale;
  if (scale != 1.0f) value = f32::Mul(value, scale);
  if (matrix.biases == nullptr) return value;
  return f32::Add(value, matrix.biases[int64_t{expert_index} * matrix.rows + row]);
}

__device__ __forceinline__ float AddToResidual(const float* residual, int64_t at, float scale,
                                               float value) {
  return residual == nullptr ? value : f32::Add(residual[at], f32::Mul(value, scale));
}

__device__ __forceinline__ float DenseValue(const DenseTarget& target, int row, float value) {
  const float y = ScaleAndAddBias(target.matrix, 0, row, value);
  return target.divisor == 1.0f ? y : f32::Div(y, target.divisor);
}

__device__ __forceinline__ void StoreDense(const DenseTarget& target, int vector, int row,
                                           float value) {
  const float y = DenseValue(target, row, value);
  const int64_t at = int64_t{vector} * target.matrix.rows + row;
  target.y[at] = AddToResidual(target.residual, at, target.residual_scale, y);
}

// Adds the groups of each row and vector in order. Results of kDense are final, those of kGated and
// kSum go to shared memory. kHasGroups: otherwise a sum is whole already.
template <bool kHasGroups, int kVectors>
__device__ __forceinline__ void AddGroups(const ProductParameters& p, const SlotLists& lists,
                                          const ProductStep& step, int begin) {
  const int* const offsets = Shared<int>(p.shared.row_offsets) + step.parity * p.virtual_rows;
  const float* const partials = Shared<float>(p.shared.partials);
  for (int i = threadIdx.x; i < p.virtual_rows * kVectors; i += blockDim.x) {
    const int v = i / p.virtual_rows;
    const int place = i - v * p.virtual_rows;
    if (offsets[place] < 0) continue;
    const RowOfStep row = FindRow(p, step, place);
    if (begin + v >= lists.num_slots(row.expert)) continue;
    float value = partials[v * p.groups * p.virtual_rows + place];
    if constexpr (kHasGroups) {
      value = f32::Add(0.0f, value);
      for (int group = 1; group < p.groups; ++group) {
        value = f32::Add(value, partials[(v * p.groups + group) * p.virtual_rows + place]);
      }
    }
    const int entry = lists.entry(lists.first_slot(row.expert) + begin + v);
    const int vector = lists.row_of_entry(entry);
    if (!f32::IsFinite(value)) ReportFault(row.matrix->fault, p.first_row + vector);
    if (p.mode == ProductMode::kDense) {
      StoreDense(p.outputs[step.output], vector, row.row, value);
      continue;
    }
    value = ScaleAndAddBias(*row.matrix, lists.index(row.expert), row.row, value);
    if (p.mode == ProductMode::kGated) {
      Shared<float>(p.shared.results)[v * p.virtual_rows + place] = value;
    } else {
      const int tile_row = place & ((1 << p.log_tile_rows) - 1);
      Shared<float>(p.shared.outputs)[(entry << p.log_tile_rows) + tile_row] = value;
    }
  }
}

// kGated: from the results of AddGroups to hidden values.
template <int kVectors>
__device__ __forceinline__ void StoreGated(const ProductParameters& p, const SlotLists& lists,
                                           const ProductStep& step, int begin) {
  const int tile_rows = 1 << p.log_tile_rows;
  const float* const results = Shared<float>(p.shared.results);
  for (int i = threadIdx.x; i < tile_rows * kVectors; i += blockDim.x) {
    const int v = i >> p.log_tile_rows;
    const int place = i & (tile_rows - 1);
    const int row = step.first_row + place;
    if (row >= p.gated.gate.rows || begin + v >= step.num_slots) continue;
    const float gate = results[v * p.virtual_rows + place];
    const float up = results[v * p.virtual_rows + tile_rows + place];
    const float value = GatedValue(p.gated.activation, gate, up);
    const int entry = lists.entry(step.first_slot + begin + v);
    if (!f32::IsFinite(value)) {
      ReportFault(p.gated.fault, p.first_row + lists.row_of_entry(entry));
    }
    p.gated.hidden.values[int64_t{entry} * p.gated.gate.rows + row] = value;
  }
}

// kGated, when a tile's hidden values are stored: whoever finds that those around it are there too
// quantizes them, for all vectors of the expert.
__device__ __forceinline__ void QuantizeHidden(const ProductParameters& p, const SlotLists& lists,
                                               const ProductStep& step) {
  const GatedTarget& gated = p.gated;
  if (gated.quantized_span == 0) return;
  const int span = step.first_row / gated.quantized_span;
  const int begin = span * gated.quantized_span;
  const int size = min(gated.quantized_span, gated.gate.rows - begin);
  const int tiles = (size + (1 << p.log_tile_rows) - 1) >> p.log_tile_rows;
  int* const done = Shared<int>(p.shared.done);
  if (tiles > 1) __threadfence();  // Values before tickets.
  __syncthreads();
  for (int i = threadIdx.x; i < step.num_slots; i += blockDim.x) {
    const int entry = lists.entry(step.first_slot + i);
    const unsigned last = tiles - 1;
    // Back at zero after the last.
    done[i] = tiles == 1 || atomicInc(gated.tickets + entry * gated.spans + span, last) == last;
  }
  __syncthreads();
  if (tiles > 1) __threadfence();
  const DeviceActivations& hidden = gated.hidden;
  for (int i = threadIdx.x / 32; i < step.num_slots; i += blockDim.x / 32) {
    if (done[i] == 0) continue;
    const int64_t first = int64_t{lists.entry(step.first_slot + i)} * gated.gate.rows + begin;
    if (hidden.a256.q != nullptr) {
      QuantizeBlock256(hidden.values + first, first / 256, hidden.a256);
    }
    if (hidden.a32.q == nullptr) continue;
    for (int block = 0; block < size; block += 32) {
      QuantizeBlock32(hidden.values + first + block, (first + block) / 32, hidden.a32);
    }
  }
}

// kSum, when all experts of a tile are done.
__device__ __forceinline__ void StoreSums(const ProductParameters& p, const ProductStep& step) {
  const SumTarget& sum = p.sum;
  const int tile_rows = 1 << p.log_tile_rows;
  const int chosen = p.routing.num_chosen;
  for (int i = threadIdx.x; i < p.rows << p.log_tile_rows; i += blockDim.x) {
    const int vector = i >> p.log_tile_rows;
    const int place = i & (tile_rows - 1);
    const int row = step.first_row + place;
    if (row >= sum.down.rows) continue;
    const float* const outputs =
        Shared<float>(p.shared.outputs) + ((vector * chosen) << p.log_tile_rows) + place;
    const float* const weights = Shared<float>(p.shared.routing) + vector * chosen;
    float y = 0.0f;
    for (int rank = 0; rank < chosen; ++rank) {
      y = f32::Fma(weights[rank], outputs[rank << p.log_tile_rows], y);
    }
    const int64_t at = int64_t{vector} * sum.down.rows + row;
    if (sum.shared != nullptr) {
      const float share = sum.shared_gate == nullptr ? 1.0f : f32::Sigmoid(sum.shared_gate[vector]);
      y = f32::Fma(share, sum.shared[at], y);
    }
    sum.y[at] = AddToResidual(sum.residual, at, sum.residual_scale, y);
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_RESULTS_CUH_
