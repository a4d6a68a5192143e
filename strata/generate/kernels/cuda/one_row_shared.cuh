// What the product kernels for one row share: weights and vectors in a block's shared memory, and
// the sums of groups.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_SHARED_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_SHARED_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/group_bytes.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_block.cuh"
#include "strata/generate/kernels/cuda/product_loads.cuh"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// Asks for `bytes` bytes in whole 16-byte pieces, this thread for each `threads`th from `thread` on.
__device__ __forceinline__ void LoadSegment(int to, uint64_t from, int bytes, int thread,
                                            int threads) {
  const int begin = static_cast<int>(from & 15u);
  const uint64_t first = from - begin;
  const int end = begin + bytes;
  for (int at = 16 * thread; at < end; at += 16 * threads) {
    CopyAsync16(shared_memory + to + at, first + at, min(end - at, 16));
  }
}

template <BlockType kType>
__device__ __forceinline__ void LoadGrid(const OneRowShape& shape) {
  constexpr int kGridWords = GroupFormatOf(kType).grid_words;
  for (int i = threadIdx.x; i < kGridWords; i += blockDim.x) {
    Shared<uint32_t>(shape.grid)[i] = GridOf<kType>()[i];
  }
}

// Asks for a vector that is there as int8.
template <BlockType kType>
__device__ __forceinline__ void LoadVector(const OneRowShape& shape, const OneRowVector& x) {
  constexpr bool kIsA256 = ActivationsOf<kType>::kIsA256;
  uint8_t* const to = shared_memory + shape.vectors;
  for (int i = threadIdx.x; i < shape.columns / 16; i += blockDim.x) {
    CopyAsync16(to + i / 16 * kGroupVectorBytes + i % 16 * 16,
                reinterpret_cast<uint64_t>(x.q + 16 * i), 16);
  }
  const int blocks = shape.columns / (kIsA256 ? 256 : 32);
  for (int i = threadIdx.x; i < blocks; i += blockDim.x) {
    CopyAsync4(to + shape.scales_offset + 4 * i, reinterpret_cast<uint64_t>(x.scales + i));
  }
  if constexpr (!GroupFormatOf(kType).needs_sums) return;
  if constexpr (kIsA256) {
    for (int i = threadIdx.x; i < 2 * blocks; i += blockDim.x) {
      CopyAsync16(to + shape.sums_offset + 16 * i, reinterpret_cast<uint64_t>(x.sums + 8 * i), 16);
    }
  } else {
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) {
      reinterpret_cast<int16_t*>(to + shape.sums_offset)[i] = x.sums[i];
    }
  }
}

// 256 values from number 256 * group on, as far as they are there, into the vector at `to`, by a
// warp.
template <BlockType kType>
__device__ __forceinline__ void QuantizeGroup(const OneRowShape& shape, const float* values,
                                              int group, uint8_t* to) {
  constexpr uint32_t kAll = 0xffffffffu;
  constexpr bool kIsA256 = ActivationsOf<kType>::kIsA256;
  const int lane = threadIdx.x % 32;
  const int column = 256 * group + 8 * lane;
  EightValues eight = {};
  uint32_t most = 0;
  if (column < shape.columns) {
    const auto* const from = reinterpret_cast<const float4*>(values + column);
    const float4 a = __ldcg(from), b = __ldcg(from + 1);
    eight = {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
#pragma unroll
    for (int i = 0; i < 8; ++i) most = max(most, f32::MagnitudeBits(eight.v[i]));
  }
  if constexpr (kIsA256) {
    most = __reduce_max_sync(kAll, most);
  } else {
    most = max(most, __shfl_xor_sync(kAll, most, 1));
    most = max(most, __shfl_xor_sync(kAll, most, 2));
  }
  const Int8Scale scale = Int8ScaleOf(most);
  const EightCodes codes = ToCodes(eight, scale);
  *reinterpret_cast<uint2*>(to + group * kGroupVectorBytes + 8 * lane) = codes.bytes;
  auto* const scales = reinterpret_cast<float*>(to + shape.scales_offset);
  auto* const sums = reinterpret_cast<int16_t*>(to + shape.sums_offset);
  int sum = codes.sum + __shfl_xor_sync(kAll, codes.sum, 1);
  if constexpr (kIsA256) {
    if (lane == 0) scales[group] = scale.scale;
    if (GroupFormatOf(kType).needs_sums && lane % 2 == 0) {
      sums[16 * group + lane / 2] = static_cast<int16_t>(sum);
    }
  } else {
    sum += __shfl_xor_sync(kAll, sum, 2);
    if (lane % 4 != 0 || column >= shape.columns) return;
    scales[8 * group + lane / 4] = scale.scale;
    if (GroupFormatOf(kType).needs_sums) sums[8 * group + lane / 4] = static_cast<int16_t>(sum);
  }
}

template <BlockType kType>
__device__ __forceinline__ GroupVector VectorOf(const OneRowShape& shape, int vector, int group) {
  using Form = ActivationsOf<kType>;
  const uint8_t* const at = shared_memory + shape.vectors + vector * shape.vector_stride;
  return {.q = at + group * kGroupVectorBytes,
          .scales = at + shape.scales_offset + group * Form::kScaleBytes,
          .sums = at + shape.sums_offset + group * Form::kSumBytes};
}

// The sums of all groups of the first `rows` rows of each segment, one a thread. Neighbouring
// threads take neighbouring groups, whose bytes follow each other and so are spread over the banks.
// Segments have a vector each, or all have one.
template <BlockType kType>
__device__ __forceinline__ void SumGroups(const OneRowShape& shape, int rows, bool vector_each) {
  constexpr int kGroupBytes = GroupFormatOf(kType).group_bytes;
  const int units = (shape.segments << shape.log_tile_rows) * shape.groups;
  for (int unit = threadIdx.x; unit < units; unit += blockDim.x) {
    const int place = unit / shape.groups;
    const int group = unit - place * shape.groups;
    const int segment = place >> shape.log_tile_rows;
    const int row = place - (segment << shape.log_tile_rows);
    if (row >= rows) continue;
    const int begin = Shared<int>(shape.begins)[segment];
    const int offset =
        segment * shape.segment_stride + begin + row * shape.row_bytes + group * kGroupBytes;
    const GroupVector x[1] = {VectorOf<kType>(shape, vector_each ? segment : 0, group)};
    const int num_weights = min(kGroupWeights, shape.columns - group * kGroupWeights);
    const uint32_t* const grid = Shared<uint32_t>(shape.grid);
    float sum[1];
    // The address of an expert may have any alignment.
    if (kGroupBytes % 16 == 0 && shape.is_aligned && begin == 0) {
      GroupDot<kType>(GroupBytes<true>(shared_memory, offset), num_weights, grid, x, sum);
    } else {
      GroupDot<kType>(GroupBytes<false>(shared_memory, offset), num_weights, grid, x, sum);
    }
    Shared<float>(shape.partials)[place * shape.partials_stride + group] = sum[0];
  }
}

// A row's groups in order.
__device__ __forceinline__ float SumOfRow(const OneRowShape& shape, int place) {
  const float* const partials = Shared<float>(shape.partials) + place * shape.partials_stride;
  float value = f32::Add(0.0f, partials[0]);
#pragma unroll 8
  for (int group = 1; group < shape.groups; ++group) value = f32::Add(value, partials[group]);
  return value;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_SHARED_CUH_
