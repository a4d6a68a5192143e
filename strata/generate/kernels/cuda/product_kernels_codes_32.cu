#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

ProductKernelPointer FindKernelOfCodes32(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kQ4_0, BlockType::kQ4_1, BlockType::kQ5_0, BlockType::kQ5_1,
                         BlockType::kQ8_0, BlockType::kQ2_0, BlockType::kQ1_0>(type, vectors);
}

OneRowKernelPointer FindOneRowKernelOfCodes32(BlockType type, ProductMode mode, bool mailed) {
  return FindOneRowKernelAmong<BlockType::kQ4_0, BlockType::kQ4_1, BlockType::kQ5_0,
                               BlockType::kQ5_1, BlockType::kQ8_0, BlockType::kQ2_0,
                               BlockType::kQ1_0>(type, mode, mailed);
}

}  // namespace strata
