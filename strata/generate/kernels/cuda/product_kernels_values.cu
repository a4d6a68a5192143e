#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/product_kernels.h"

namespace strata {

ProductKernelPointer FindKernelOfValues(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kIQ4_NL, BlockType::kIQ4_XS, BlockType::kMXFP4,
                         BlockType::kNVFP4>(type, vectors);
}

}  // namespace strata
