#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/product_kernels.h"

namespace strata {

ProductKernelPointer FindKernelOfNumbers(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kF32, BlockType::kF16, BlockType::kBF16>(type, vectors);
}

}  // namespace strata
