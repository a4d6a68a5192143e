// What the product kernels for one row share: weights and vectors in a block's shared memory, and
// the sums of groups.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_SHARED_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_SHARED_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/group_bytes.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_block.cuh"
#include "strata/generate/kernels/cuda/product_loads.cuh"
#include "strata/generate/kernels/cuda/residual_row.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// Asks for so many rows in whole 16-byte pieces, by a warp. The first begins where it does in its
// first piece.
__device__ __forceinline__ void LoadSegment(const OneRowShape& shape, int segment, uint64_t from,
                                            int rows) {
  const int begin = static_cast<int>(from & 15u);
  const uint64_t first = from - begin;
  const int end = begin + rows * shape.row_bytes;
  uint8_t* const to = shared_memory + segment * shape.segment_stride;
  for (int at = 16 * (threadIdx.x % 32); at < end; at += 16 * 32) {
    CopyAsync16(to + at, first + at, min(end - at, 16));
  }
}

template <BlockType kType>
__device__ __forceinline__ void LoadGrid(const OneRowShape& shape) {
  constexpr int kGridWords = GroupFormatOf(kType).grid_words;
  for (int i = threadIdx.x; i < kGridWords; i += blockDim.x) {
    Shared<uint32_t>(shape.grid)[i] = GridOf<kType>()[i];
  }
}

__device__ __forceinline__ uint4 LoadWordsFromL2(const void* from) {
  return __ldcg(static_cast<const uint4*>(from));
}

// A vector that is there as int8, by the block. Not by asynchronous copies, so that nobody waits for
// weights who waits for it.
template <BlockType kType>
__device__ __forceinline__ void LoadVector(const OneRowShape& shape, const OneRowVector& x) {
  constexpr bool kIsA256 = ActivationsOf<kType>::kIsA256;
  uint8_t* const to = shared_memory + shape.vectors;
  for (int i = threadIdx.x; i < shape.columns / 16; i += blockDim.x) {
    *reinterpret_cast<uint4*>(to + i / 16 * kGroupVectorBytes + i % 16 * 16) =
        LoadWordsFromL2(x.q + 16 * i);
  }
  const int blocks = shape.columns / (kIsA256 ? 256 : 32);
  for (int i = threadIdx.x; i < blocks; i += blockDim.x) {
    reinterpret_cast<float*>(to + shape.scales_offset)[i] = __ldcg(x.scales + i);
  }
  if constexpr (GroupFormatOf(kType).needs_sums) {
    // From the last thread on: the first ones have the most of q.
    for (int i = blockDim.x - 1 - threadIdx.x; i < (kIsA256 ? 2 : 1) * blocks; i += blockDim.x) {
      if constexpr (kIsA256) {
        reinterpret_cast<uint4*>(to + shape.sums_offset)[i] = LoadWordsFromL2(x.sums + 8 * i);
      } else {
        reinterpret_cast<int16_t*>(to + shape.sums_offset)[i] = __ldcg(x.sums + i);
      }
    }
  }
}

// This lane's eight of the 256 values from number 256 * group on; zeros where there are none.
__device__ __forceinline__ EightValues LoadGroup(const OneRowShape& shape, const float* values,
                                                 int group) {
  const int column = 256 * group + 8 * (threadIdx.x % 32);
  if (column >= shape.columns) return {};
  const auto* const from = reinterpret_cast<const float4*>(values + column);
  const float4 a = __ldcg(from), b = __ldcg(from + 1);
  return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

// They become int8 in the vector at `to`, by a warp.
template <BlockType kType>
__device__ __forceinline__ void StoreGroup(const OneRowShape& shape, const EightValues& eight,
                                           int group, uint8_t* to) {
  constexpr uint32_t kAll = 0xffffffffu;
  constexpr bool kIsA256 = ActivationsOf<kType>::kIsA256;
  constexpr bool kNeedsSums = GroupFormatOf(kType).needs_sums;
  const int lane = threadIdx.x % 32;
  uint32_t most = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) most = max(most, f32::MagnitudeBits(eight.v[i]));
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
    if (kNeedsSums && lane % 2 == 0) sums[16 * group + lane / 2] = static_cast<int16_t>(sum);
  } else {
    sum += __shfl_xor_sync(kAll, sum, 2);
    if (lane % 4 != 0 || 256 * group + 8 * lane >= shape.columns) return;
    scales[8 * group + lane / 4] = scale.scale;
    if (kNeedsSums) sums[8 * group + lane / 4] = static_cast<int16_t>(sum);
  }
}

// The vector is the norm of a state, which this block makes for itself.
template <BlockType kType>
__device__ __forceinline__ void NormVector(const OneRowShape& shape, const NormTask& norm,
                                           int fault_row) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  auto* const state = Shared<float>(shape.state);
  const auto load_weights = [&](int group) -> EightValues {
    const int column = 256 * group + 8 * lane;
    if (norm.weight == nullptr || column >= shape.columns) return {{1, 1, 1, 1, 1, 1, 1, 1}};
    const auto* const from = reinterpret_cast<const float4*>(norm.weight + column);
    const float4 a = from[0], b = from[1];
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
  };
  EightValues weights = load_weights(warp);
  const float inverse = MakeState(norm, 0, state);
  for (int group = warp; group < shape.groups; group += warps) {
    if (group > warp) weights = load_weights(group);
    EightValues eight = {};
    uint32_t most = 0;
    if (256 * group + 8 * lane < shape.columns) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float value = state[256 * group + 8 * lane + i];
        eight.v[i] = f32::Mul(f32::Mul(inverse, value), weights.v[i]);
        most = max(most, f32::MagnitudeBits(eight.v[i]));
      }
    }
    if (most >= f32::kInfinityBits) ReportFault(norm.fault, fault_row);
    StoreGroup<kType>(shape, eight, group, shared_memory + shape.vectors);
  }
}

// Groups first, first + stride, ... of a vector of values, by a warp.
template <BlockType kType>
__device__ __forceinline__ void QuantizeGroups(const OneRowShape& shape, const float* values,
                                               int first, int stride, uint8_t* to) {
  constexpr int kAtOnce = 4;
  for (int begin = first; begin < shape.groups; begin += kAtOnce * stride) {
    EightValues eight[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) eight[i] = LoadGroup(shape, values, begin + i * stride);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int group = begin + i * stride;
      if (group < shape.groups) StoreGroup<kType>(shape, eight[i], group, to);
    }
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

// Segments of a warp's tile that meet one vector: where they come from in memory.
template <int kCount>
struct Segments {
  int first = 0;
  uint64_t from[kCount];
};

// The sums of all groups of the first `rows` rows of each segment, one a lane, by a warp.
// Neighbouring lanes take neighbouring groups, whose bytes follow each other and so are spread over
// the banks.
template <BlockType kType, int kCount>
__device__ __forceinline__ void SumGroups(const OneRowShape& shape,
                                          const Segments<kCount>& segments, int rows, int vector) {
  constexpr int kGroupBytes = GroupFormatOf(kType).group_bytes;
  for (int unit = threadIdx.x % 32; unit < kCount * rows * shape.groups; unit += 32) {
    const int place = unit / shape.groups;
    const int group = unit - place * shape.groups;
    const bool is_second = kCount == 2 && place >= rows;
    const int row = is_second ? place - rows : place;
    const int segment = segments.first + is_second;
    const int begin = static_cast<int>(segments.from[is_second ? kCount - 1 : 0] & 15u);
    const int offset =
        segment * shape.segment_stride + begin + row * shape.row_bytes + group * kGroupBytes;
    const GroupVector x[1] = {VectorOf<kType>(shape, vector, group)};
    const int num_weights = min(kGroupWeights, shape.columns - group * kGroupWeights);
    const uint32_t* const grid = Shared<uint32_t>(shape.grid);
    float sum[1];
    // The address of an expert may have any alignment.
    if (kGroupBytes % 16 == 0 && shape.is_aligned && begin == 0) {
      GroupDot<kType>(GroupBytes<true>(shared_memory, offset), num_weights, grid, x, sum);
    } else {
      GroupDot<kType>(GroupBytes<false>(shared_memory, offset), num_weights, grid, x, sum);
    }
    Shared<float>(shape.partials)[(segment * shape.tile_rows + row) * shape.groups + group] =
        sum[0];
  }
  __syncwarp();
}

// A row's groups in order.
__device__ __forceinline__ float SumOfRow(const OneRowShape& shape, int segment, int row) {
  const float* const partials =
      Shared<float>(shape.partials) + (segment * shape.tile_rows + row) * shape.groups;
  float value = f32::Add(0.0f, partials[0]);
#pragma unroll 8
  for (int group = 1; group < shape.groups; ++group) value = f32::Add(value, partials[group]);
  return value;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_SHARED_CUH_
