// Bringing weights and activations into a block's shared memory, without waiting.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_LOADS_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_LOADS_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/product_block.cuh"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

// The grid of a type in device memory; null without one.
template <BlockType kType>
__device__ const uint32_t* GridOf() {
  return nullptr;
}

// 16 bytes, both addresses aligned; of the source only the first `bytes`, the rest become zeros.
__device__ __forceinline__ void CopyAsync16(uint8_t* to, uint64_t from, int bytes) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(address), "l"(from),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void CopyAsync4(uint8_t* to, uint64_t from) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(address), "l"(from) : "memory");
}
// Of what this thread asked for.
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_all;\n" ::: "memory");
}

// Asks for the rows of a step, each a warp's work; whole 16-byte pieces, so that a row begins where
// it does in its first piece.
__device__ __forceinline__ void LoadWeights(const ProductParameters& p, const SlotLists& lists,
                                            const ProductStep& step, bool use_lists) {
  int* const offsets = Shared<int>(p.shared.row_offsets) + step.parity * p.virtual_rows;
  const int lane = threadIdx.x % 32;
  for (int i = threadIdx.x / 32; i < p.virtual_rows; i += blockDim.x / 32) {
    const RowOfStep row = FindRow(p, step, i);
    if (!row.is_there) {
      if (lane == 0) offsets[i] = -1;
      continue;
    }
    const uint64_t base =
        use_lists && p.mode != ProductMode::kDense
            ? lists.base(row.expert, p.mode == ProductMode::kGated ? row.segment : 0)
            : reinterpret_cast<uint64_t>(row.matrix->data);
    const uint64_t begin = base + static_cast<uint64_t>(row.row) * p.row_bytes;
    const uint64_t end = begin + p.row_bytes;
    if (lane == 0) offsets[i] = static_cast<int>(begin & 15u);
    uint8_t* const to = shared_memory + i * p.row_stride;
    const uint64_t first = begin & ~uint64_t{15};
    for (uint64_t from = first + 16 * lane; from < end; from += 16 * 32) {
      const uint64_t left = end - from;
      CopyAsync16(to + (from - first), from, left < 16 ? static_cast<int>(left) : 16);
    }
  }
}

// The forms of activations in a block's memory.
template <BlockType kType>
struct ActivationsOf {
  static constexpr WeightKind kKind = GroupFormatOf(kType).kind;
  static constexpr bool kIsA256 = kKind == WeightKind::kBlocks256;
  static constexpr int kScaleBytes = kIsA256 ? 4 : 32;  // Of a group.
  static constexpr int kSumBytes = kIsA256 ? 32 : 16;
};

// Pieces of 16 bytes of one of `count` vectors, whose sources lie `bytes` apart: a warp takes 32.
template <typename VectorOf>
__device__ __forceinline__ void CopyPieces(const ProductParameters& p, int count, int offset,
                                           const void* source, int bytes, VectorOf vector_of) {
  const int pieces = bytes / 16;
  const int parts = (pieces + 31) / 32;
  const int lane = threadIdx.x % 32;
  for (int unit = threadIdx.x / 32; unit < count * parts; unit += blockDim.x / 32) {
    const int slot = unit / parts;
    const int piece = (unit - slot * parts) * 32 + lane;
    if (piece >= pieces) continue;
    const uint64_t from =
        reinterpret_cast<uint64_t>(source) + static_cast<uint64_t>(vector_of(slot)) * bytes;
    CopyAsync16(Shared<uint8_t>(p.shared.vectors + slot * p.vector_stride + offset) + 16 * piece,
                from + 16 * piece, 16);
  }
}

// `count` vectors into the first places for them: number vector_of(place) of the source.
template <BlockType kType, typename VectorOf>
__device__ __forceinline__ void LoadVectors(const ProductParameters& p, int count,
                                            VectorOf vector_of) {
  using Form = ActivationsOf<kType>;
  if constexpr (Form::kKind == WeightKind::kNumbers) {
    CopyPieces(p, count, 0, p.x.values, p.columns * 4, vector_of);
  } else {
    const DeviceInt8Rows& rows = Form::kIsA256 ? p.x.a256 : p.x.a32;
    CopyPieces(p, count, 0, rows.q, p.columns, vector_of);
    const int lane = threadIdx.x % 32;
    const int scales = p.columns / (Form::kIsA256 ? 256 : 32);
    for (int slot = threadIdx.x / 32; slot < count; slot += blockDim.x / 32) {
      uint8_t* const to = Shared<uint8_t>(p.shared.vectors + slot * p.vector_stride);
      const int64_t vector = vector_of(slot);
      for (int i = lane; i < scales; i += 32) {
        CopyAsync4(to + p.scales_offset + 4 * i,
                   reinterpret_cast<uint64_t>(rows.scales + vector * scales + i));
      }
      if constexpr (GroupFormatOf(kType).needs_sums && !Form::kIsA256) {
        // Sums of neighbouring rows share a word.
        for (int i = lane; i < scales; i += 32) {
          reinterpret_cast<int16_t*>(to + p.sums_offset)[i] = rows.sums[vector * scales + i];
        }
      }
    }
    if constexpr (GroupFormatOf(kType).needs_sums && Form::kIsA256) {
      CopyPieces(p, count, p.sums_offset, rows.sums, p.columns / 8, vector_of);
    }
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_LOADS_CUH_
