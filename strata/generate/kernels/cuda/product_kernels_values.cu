#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

ProductKernelPointer FindKernelOfValues(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kIQ4_NL, BlockType::kIQ4_XS, BlockType::kMXFP4,
                         BlockType::kNVFP4>(type, vectors);
}

OneRowKernelPointer FindOneRowKernelOfValues(BlockType type, ProductMode mode, bool mailed) {
  return FindOneRowKernelAmong<BlockType::kIQ4_NL, BlockType::kIQ4_XS, BlockType::kMXFP4,
                               BlockType::kNVFP4>(type, mode, mailed);
}

}  // namespace strata
