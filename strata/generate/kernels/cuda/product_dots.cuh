// The sums of groups that a step of a block is made of, from shared memory to shared memory.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_DOTS_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_DOTS_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/group_bytes.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/product_block.cuh"
#include "strata/generate/kernels/cuda/product_loads.cuh"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// The vectors that a row of a step meets.
struct SlotsOfRow {
  int first;
  int count;
};

__device__ __forceinline__ SlotsOfRow FindSlots(const ProductParameters& p, const SlotLists& lists,
                                                const ProductStep& step, int row) {
  const int expert = step.first_expert + (p.mode == ProductMode::kSum ? row >> p.log_tile_rows : 0);
  const int first = lists.first_slot(expert);
  return {first, lists.first_slot(expert + 1) - first};
}

// Where the vector of a slot lies.
__device__ __forceinline__ int VectorOffset(const ProductParameters& p, const SlotLists& lists,
                                            const ProductStep& step, int slot) {
  const int place =
      p.mode == ProductMode::kSum ? slot - step.first_slot : lists.row_of_entry(lists.entry(slot));
  return p.shared.vectors + place * p.vector_stride;
}

// The vectors [begin, begin + kVectors) of those that each row meets. Eight neighbouring threads
// have rows that follow each other, and one group: they read one activation and eight places that
// are spread over the banks of shared memory.
template <BlockType kType, int kVectors>
__device__ __forceinline__ void DotOfGroups(const ProductParameters& p, const SlotLists& lists,
                                            const ProductStep& step, int begin) {
  using Form = ActivationsOf<kType>;
  const int octets = (p.virtual_rows + 7) / 8;
  const int* const offsets = Shared<int>(p.shared.row_offsets) + step.parity * p.virtual_rows;
  float* const partials = Shared<float>(p.shared.partials);
  for (int unit = threadIdx.x / 8; unit < octets * p.groups; unit += blockDim.x / 8) {
    const int divisor = p.groups_first ? p.groups : octets;
    const int quotient = unit / divisor;
    const int remainder = unit - quotient * divisor;
    const int group = p.groups_first ? remainder : quotient;
    const int row = (p.groups_first ? quotient : remainder) * 8 + threadIdx.x % 8;
    if (row >= p.virtual_rows || offsets[row] < 0) continue;
    const SlotsOfRow slots = FindSlots(p, lists, step, row);
    if (begin >= slots.count) continue;
    GroupVector x[kVectors];
    STRATA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      // Behind the last vector it is computed again, and not used.
      const int slot = slots.first + min(begin + v, slots.count - 1);
      const uint8_t* const vector = shared_memory + VectorOffset(p, lists, step, slot);
      x[v] = {.q = vector + group * kGroupWeights,
              .scales = vector + p.scales_offset + group * Form::kScaleBytes,
              .sums = vector + p.sums_offset + group * Form::kSumBytes};
    }
    constexpr int kGroupBytes = GroupFormatOf(kType).group_bytes;
    const int offset = row * p.row_stride + offsets[row] + group * kGroupBytes;
    const int num_weights = min(kGroupWeights, p.columns - group * kGroupWeights);
    const uint32_t* const grid = Shared<uint32_t>(p.shared.grid);
    float sums[kVectors];
    // The address of an expert may have any alignment.
    if (kGroupBytes % 16 == 0 && p.is_aligned && offsets[row] == 0) {
      GroupDot<kType>(GroupBytes<true>(shared_memory, offset), num_weights, grid, x, sums);
    } else {
      GroupDot<kType>(GroupBytes<false>(shared_memory, offset), num_weights, grid, x, sums);
    }
    STRATA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      partials[(v * p.groups + group) * p.virtual_rows + row] = sums[v];
    }
  }
}

// Four neighbours; `is_aligned` says that they begin at a multiple of their bytes together.
template <BlockType kType>
__device__ __forceinline__ void LoadNumbers(const uint8_t* bytes, bool is_aligned,
                                            float (&numbers)[4]) {
  if constexpr (kType == BlockType::kF32) {
    if (is_aligned) {
      const float4 four = *reinterpret_cast<const float4*>(bytes);
      numbers[0] = four.x, numbers[1] = four.y, numbers[2] = four.z, numbers[3] = four.w;
    } else {
      STRATA_UNROLL
      for (int j = 0; j < 4; ++j) numbers[j] = reinterpret_cast<const float*>(bytes)[j];
    }
  } else {
    uint16_t halves[4];
    if (is_aligned) {
      const ushort4 four = *reinterpret_cast<const ushort4*>(bytes);
      halves[0] = four.x, halves[1] = four.y, halves[2] = four.z, halves[3] = four.w;
    } else {
      STRATA_UNROLL
      for (int j = 0; j < 4; ++j) halves[j] = reinterpret_cast<const uint16_t*>(bytes)[j];
    }
    STRATA_UNROLL
    for (int j = 0; j < 4; ++j) {
      numbers[j] = kType == BlockType::kF16 ? f32::FromF16(halves[j]) : f32::FromBf16(halves[j]);
    }
  }
}

// Likewise for F32, F16 and BF16: a warp has a row, and a lane four of the 128 accumulators.
template <BlockType kType, int kVectors>
__device__ __forceinline__ void DotOfNumbers(const ProductParameters& p, const SlotLists& lists,
                                             const ProductStep& step, int begin) {
  constexpr int kBytes = GroupFormatOf(kType).group_bytes;
  const int* const offsets = Shared<int>(p.shared.row_offsets) + step.parity * p.virtual_rows;
  const int lane = threadIdx.x % 32;
  for (int row = threadIdx.x / 32; row < p.virtual_rows; row += blockDim.x / 32) {
    if (offsets[row] < 0) continue;
    const SlotsOfRow slots = FindSlots(p, lists, step, row);
    if (begin >= slots.count) continue;
    const float* x[kVectors];
    STRATA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const int slot = slots.first + min(begin + v, slots.count - 1);
      x[v] = Shared<float>(VectorOffset(p, lists, step, slot));
    }
    float sums[kVectors][4] = {};
    const uint8_t* const weights = shared_memory + row * p.row_stride + offsets[row];
    const bool is_aligned = offsets[row] == 0;
    for (int column = 4 * lane; column < p.columns; column += 128) {
      float numbers[4];
      LoadNumbers<kType>(weights + column * kBytes, is_aligned, numbers);
      STRATA_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const float4 values = *reinterpret_cast<const float4*>(x[v] + column);
        sums[v][0] = f32::Fma(numbers[0], values.x, sums[v][0]);
        sums[v][1] = f32::Fma(numbers[1], values.y, sums[v][1]);
        sums[v][2] = f32::Fma(numbers[2], values.z, sums[v][2]);
        sums[v][3] = f32::Fma(numbers[3], values.w, sums[v][3]);
      }
    }
    STRATA_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      STRATA_UNROLL
      for (int lanes = 16; lanes > 0; lanes /= 2) {
        STRATA_UNROLL
        for (int j = 0; j < 4; ++j) {
          sums[v][j] = f32::Add(sums[v][j], __shfl_xor_sync(0xffffffffu, sums[v][j], lanes));
        }
      }
      const float sum =
          f32::Add(f32::Add(sums[v][0], sums[v][2]), f32::Add(sums[v][1], sums[v][3]));
      if (lane == 0) Shared<float>(p.shared.partials)[v * p.virtual_rows + row] = sum;
    }
  }
}

template <BlockType kType, int kVectors>
__device__ __forceinline__ void Dots(const ProductParameters& p, const SlotLists& lists,
                                     const ProductStep& step, int begin) {
  if constexpr (GroupFormatOf(kType).kind == WeightKind::kNumbers) {
    DotOfNumbers<kType, kVectors>(p, lists, step, begin);
  } else {
    DotOfGroups<kType, kVectors>(p, lists, step, begin);
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_DOTS_CUH_
