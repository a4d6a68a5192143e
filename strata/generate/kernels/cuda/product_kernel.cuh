// The kernel of all products, for one type of weights. A block goes through its tiles: the rows of
// a tile come into shared memory in whole 16-byte pieces, groups of 256 weights are computed side
// by side, one a thread, and added in order; the next tile is asked for as soon as the memory is
// free. Blocks on one multiprocessor compute while others wait for memory.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_KERNEL_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_KERNEL_CUH_

#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/product_block.cuh"
#include "strata/generate/kernels/cuda/product_dots.cuh"
#include "strata/generate/kernels/cuda/product_loads.cuh"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/product_results.cuh"

namespace strata {

// Asks for what a step computes with: its weights and, where they differ from step to step, its
// activations.
template <BlockType kType>
__device__ __forceinline__ void LoadStep(const ProductParameters& p, const SlotLists& lists,
                                         const ProductStep& step) {
  LoadWeights(p, lists, step, /*use_lists=*/true);
  if (p.mode != ProductMode::kSum) return;
  LoadVectors<kType>(p, step.num_slots,
                     [&](int slot) { return lists.entry(step.first_slot + slot); });
}

// All that is computed of a step's memory; the memory of its weights is free afterwards, and
// `free_weights` is called then.
template <BlockType kType, int kVectors, typename FreeWeights>
__device__ __forceinline__ void RunStep(const ProductParameters& p, const SlotLists& lists,
                                        const ProductStep& step, FreeWeights free_weights) {
  constexpr bool kHasGroups = GroupFormatOf(kType).kind != WeightKind::kNumbers;
  for (int begin = 0; begin < step.most_slots; begin += kVectors) {
    if (begin > 0) __syncthreads();  // The results before are read.
    Dots<kType, kVectors>(p, lists, step, begin);
    __syncthreads();
    if (begin + kVectors >= step.most_slots) free_weights();
    AddGroups<kHasGroups, kVectors>(p, lists, step, begin);
    if (p.mode != ProductMode::kGated) continue;
    __syncthreads();
    StoreGated<kVectors>(p, lists, step, begin);
  }
}

template <BlockType kType, int kVectors>
__global__ __launch_bounds__(256, kVectors == 1 ? 3 : 2) void ProductKernel(
    const __grid_constant__ ProductParameters p) {
  const SlotLists lists(p);
  const ProductSteps steps(p, lists);
  ProductStep step = steps.First();
  constexpr int kGridWords = GroupFormatOf(kType).grid_words;
  for (int i = threadIdx.x; i < kGridWords; i += blockDim.x) {
    Shared<uint32_t>(p.shared.grid)[i] = GridOf<kType>()[i];
  }
  const bool is_early = p.early_weights && p.experts == nullptr && steps.IsThere(1, step);
  if (is_early) LoadWeights(p, lists, step, /*use_lists=*/false);
  WaitForPredecessor();
  ReleaseSuccessor();
  const int num_experts = lists.Fill();
  if (p.mode != ProductMode::kSum) {
    LoadVectors<kType>(p, p.rows, [](int row) { return row; });
  }
  bool is_there = steps.IsThere(num_experts, step);
  if (is_there) {
    steps.Complete(num_experts, step);
    if (!is_early) LoadStep<kType>(p, lists, step);
  }
  while (is_there) {
    WaitForCopies();
    __syncthreads();
    ProductStep next = steps.Next(num_experts, step);
    is_there = steps.IsThere(num_experts, next);
    if (is_there) steps.Complete(num_experts, next);
    RunStep<kType, kVectors>(p, lists, step, [&] {
      if (is_there) LoadStep<kType>(p, lists, next);
    });
    if (steps.IsLastOfTile(num_experts, step)) {
      if (p.mode == ProductMode::kGated) {
        QuantizeHidden(p, lists, step);
      } else if (p.mode == ProductMode::kSum) {
        __syncthreads();
        StoreSums(p, step);
      }
    }
    step = next;
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_KERNEL_CUH_
