#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/prompt_int8_kernel.cuh"
#include "strata/generate/kernels/cuda/prompt_kernels.h"

namespace strata {

PromptKernel FindPromptKernelOfFew(BlockType type, bool is_wide) {
  return FindPromptKernelAmong<BlockType::kQ1_0, BlockType::kQ2_0, BlockType::kTQ1_0,
                               BlockType::kTQ2_0>(type, is_wide);
}

}  // namespace strata
