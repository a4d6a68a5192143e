#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/prompt_int8_kernel.cuh"
#include "strata/generate/kernels/cuda/prompt_kernels.h"

namespace strata {

PromptKernel FindPromptKernelOfK(BlockType type, bool is_wide) {
  return FindPromptKernelAmong<BlockType::kQ2_K, BlockType::kQ3_K, BlockType::kQ4_K,
                               BlockType::kQ5_K, BlockType::kQ6_K>(type, is_wide);
}

}  // namespace strata
