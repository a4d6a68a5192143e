#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/prompt_int8_kernel.cuh"
#include "strata/generate/kernels/cuda/prompt_kernels.h"

namespace strata {

PromptKernel FindPromptKernelOfValues(BlockType type, bool is_wide) {
  return FindPromptKernelAmong<BlockType::kIQ4_NL, BlockType::kIQ4_XS, BlockType::kMXFP4,
                               BlockType::kNVFP4>(type, is_wide);
}

}  // namespace strata
