#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

ProductKernelPointer FindKernelOfTernary(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kTQ1_0, BlockType::kTQ2_0>(type, vectors);
}

OneRowKernelPointer FindOneRowKernelOfTernary(BlockType type, ProductMode mode, bool mailed) {
  return FindOneRowKernelAmong<BlockType::kTQ1_0, BlockType::kTQ2_0>(type, mode, mailed);
}

}  // namespace strata
