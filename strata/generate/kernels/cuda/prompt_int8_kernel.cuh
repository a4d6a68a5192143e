// The product kernel of prompts for quantized weights: one for each type and width of tile.
//
// Weights are unpacked once for all activations of a tile. While a group of 256 columns is computed
// with, the next one is unpacked and the one after that arrives: half of the warps unpack first and
// multiply then, the others the other way round, so that both units have work.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_KERNEL_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_KERNEL_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_arguments.h"
#include "strata/generate/kernels/cuda/prompt_int8_chain.cuh"
#include "strata/generate/kernels/cuda/prompt_int8_shared.cuh"
#include "strata/generate/kernels/cuda/prompt_int8_unpack.cuh"
#include "strata/generate/kernels/cuda/prompt_kernels.h"
#include "strata/generate/kernels/cuda/prompt_tile.cuh"

namespace strata {

// Blocks of 32 columns in a group.
__device__ __forceinline__ int BlocksOfGroup(const PromptArguments& p, int group) {
  return min(8, (p.columns - 256 * group) / 32);
}

template <BlockType kType, int kTiles>
__global__ void __launch_bounds__(kInt8Threads, 1)
    PromptInt8Kernel(const __grid_constant__ PromptArguments p) {
  using Shared = PromptShared<kType, kTiles>;
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<typename Shared::Buffers*>(memory);
  WaitForPredecessor();
  ReleaseSuccessor();
  if (!FindTile(p, shared.rows)) return;
  const int num_groups = (p.columns + 255) / 256;
  // Groups of whole words of 16 bytes begin where rows do.
  const auto border = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(shared.rows.weights[0]) |
                                            reinterpret_cast<uintptr_t>(shared.rows.weights[16]) |
                                            static_cast<uint64_t>(p.row_bytes));
  for (int group = 0; group < 2 && group < num_groups; ++group) {
    CopyRawRows<kType>(p, shared.rows.weights, group, border, shared.raw[group]);
    CopySums<kType, kTiles>(p, shared, group);
  }
  CopyActivations<kType, kTiles>(p, shared, 0, BlocksOfGroup(p, 0));
  CloseCopies();
  WaitForCopies<0>();
  __syncthreads();
  UnpackGroup<kType, kTiles>(p, shared, 0, BlocksOfGroup(p, 0));
  __syncthreads();

  float results[2][kTiles][4] = {};
  const int multiplies_at = threadIdx.x < kInt8Threads / 2 ? 1 : 0;
#pragma unroll 1
  for (int group = 0; group < num_groups; ++group) {
    if (group + 1 < num_groups) {
      CopyActivations<kType, kTiles>(p, shared, group + 1, BlocksOfGroup(p, group + 1));
    }
    if (group + 2 < num_groups) {
      CopyRawRows<kType>(p, shared.rows.weights, group + 2, border, shared.raw[group % 2]);
      CopySums<kType, kTiles>(p, shared, group + 2);
    }
    CloseCopies();
#pragma unroll 1
    for (int turn = 0; turn < 2; ++turn) {
      if (turn == multiplies_at) {
        const WarpGroup<kType, kTiles> own(shared, group);
        if constexpr (Shared::kA32) {
          AddGroup32(own, BlocksOfGroup(p, group), results);
        } else {
          AddGroup256(own, results);
        }
      } else if (group + 1 < num_groups) {
        UnpackGroup<kType, kTiles>(p, shared, group + 1, BlocksOfGroup(p, group + 1));
      }
    }
    WaitForCopies<0>();
    __syncthreads();
  }
  StoreResults(p, shared.rows, results);
}

template <BlockType kType>
PromptKernel PromptKernelOf(bool is_wide) {
  if (is_wide) {
    return {PromptInt8Kernel<kType, 4>, sizeof(typename PromptShared<kType, 4>::Buffers), 128,
            kInt8Threads};
  }
  return {PromptInt8Kernel<kType, 2>, sizeof(typename PromptShared<kType, 2>::Buffers), 64,
          kInt8Threads};
}

// That of `type` if it is among these; else a null kernel.
template <BlockType... kTypes>
PromptKernel FindPromptKernelAmong(BlockType type, bool is_wide) {
  PromptKernel kernel;
  ((kTypes == type ? static_cast<void>(kernel = PromptKernelOf<kTypes>(is_wide)) : void()), ...);
  return kernel;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_INT8_KERNEL_CUH_
