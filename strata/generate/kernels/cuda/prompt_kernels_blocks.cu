#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/prompt_int8_kernel.cuh"
#include "strata/generate/kernels/cuda/prompt_kernels.h"

namespace strata {

PromptKernel FindPromptKernelOfBlocks(BlockType type, bool is_wide) {
  return FindPromptKernelAmong<BlockType::kQ4_0, BlockType::kQ4_1, BlockType::kQ5_0,
                               BlockType::kQ5_1, BlockType::kQ8_0>(type, is_wide);
}

}  // namespace strata
