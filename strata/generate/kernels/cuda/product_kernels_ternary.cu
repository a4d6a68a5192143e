#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/product_kernels.h"

namespace strata {

ProductKernelPointer FindKernelOfTernary(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kTQ1_0, BlockType::kTQ2_0>(type, vectors);
}

}  // namespace strata
