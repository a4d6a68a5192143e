#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

ProductKernelPointer FindKernelOfK2K3K6(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kQ2_K, BlockType::kQ3_K, BlockType::kQ6_K>(type, vectors);
}

OneRowKernelPointer FindOneRowKernelOfK2K3K6(BlockType type, ProductMode mode, bool mailed) {
  return FindOneRowKernelAmong<BlockType::kQ2_K, BlockType::kQ3_K, BlockType::kQ6_K>(type, mode,
                                                                                     mailed);
}

}  // namespace strata
