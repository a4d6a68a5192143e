#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/product_kernels.h"

namespace strata {

ProductKernelPointer FindKernelOfCodes32(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kQ4_0, BlockType::kQ4_1, BlockType::kQ5_0, BlockType::kQ5_1,
                         BlockType::kQ8_0, BlockType::kQ2_0, BlockType::kQ1_0>(type, vectors);
}

}  // namespace strata
