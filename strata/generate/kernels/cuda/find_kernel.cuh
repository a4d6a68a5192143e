// The instances of a type's kernel.
#ifndef STRATA_GENERATE_KERNELS_CUDA_FIND_KERNEL_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_FIND_KERNEL_CUH_

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/product_kernel.cuh"
#include "strata/generate/kernels/cuda/product_kernels.h"

namespace strata {

template <BlockType kType>
ProductKernelPointer KernelOf(int vectors) {
  return vectors == 1   ? ProductKernel<kType, 1>
         : vectors == 2 ? ProductKernel<kType, 2>
                        : ProductKernel<kType, 4>;
}

// Among these types.
template <BlockType... kTypes>
ProductKernelPointer FindKernelAmong(BlockType type, int vectors) {
  ProductKernelPointer found = nullptr;
  ((found = type == kTypes ? KernelOf<kTypes>(vectors) : found), ...);
  return found;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_FIND_KERNEL_CUH_
