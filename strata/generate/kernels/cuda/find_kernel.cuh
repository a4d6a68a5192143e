// The instances of a type's kernel.
#ifndef STRATA_GENERATE_KERNELS_CUDA_FIND_KERNEL_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_FIND_KERNEL_CUH_

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/one_row_kernel.cuh"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_kernel.cuh"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

template <BlockType kType>
ProductKernelPointer KernelOf(int vectors) {
  constexpr bool kHasGroups = GroupFormatOf(kType).kind != WeightKind::kNumbers;
  return vectors == 1 ? ProductKernel < kType, kHasGroups ? 2 : 1 >
     : vectors == 2   ? ProductKernel<kType, 2>
                      : ProductKernel<kType, 4>;
}

template <BlockType kType>
OneRowKernelPointer OneRowKernelOf(ProductMode mode, bool mailed) {
  if (mode == ProductMode::kDense) return OneRowDense<kType>;
  if (mode == ProductMode::kGated) {
    return mailed ? OneRowGated<kType, true> : OneRowGated<kType, false>;
  }
  return mailed ? OneRowSum<kType, true> : OneRowSum<kType, false>;
}

// Among these types.
template <BlockType... kTypes>
ProductKernelPointer FindKernelAmong(BlockType type, int vectors) {
  ProductKernelPointer found = nullptr;
  ((found = type == kTypes ? KernelOf<kTypes>(vectors) : found), ...);
  return found;
}

template <BlockType... kTypes>
OneRowKernelPointer FindOneRowKernelAmong(BlockType type, ProductMode mode, bool mailed) {
  OneRowKernelPointer found = nullptr;
  ((found = type == kTypes ? OneRowKernelOf<kTypes>(mode, mailed) : found), ...);
  return found;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_FIND_KERNEL_CUH_
