#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

ProductKernelPointer FindKernelOfK4K5(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kQ4_K, BlockType::kQ5_K>(type, vectors);
}

OneRowKernelPointer FindOneRowKernelOfK4K5(BlockType type, ProductMode mode, bool mailed) {
  return FindOneRowKernelAmong<BlockType::kQ4_K, BlockType::kQ5_K>(type, mode, mailed);
}

}  // namespace strata
