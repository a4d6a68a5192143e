// The product kernels of prompts by type of weights; a family a file, so that they compile apart.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_KERNELS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_KERNELS_H_

#include <cstddef>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/prompt_arguments.h"

namespace strata {

struct PromptKernel {
  void (*kernel)(PromptArguments) = nullptr;
  size_t shared_bytes = 0;
  int tile_vectors = 0;  // Of a block.
  int threads = 0;       // Likewise.
};

// Each null for a type of another family. Wide: tiles of 128 vectors where a kernel has them, else
// of 64.
PromptKernel FindPromptKernelOfK(BlockType type, bool is_wide);        // Q2_K to Q6_K.
PromptKernel FindPromptKernelOfGrids(BlockType type, bool is_wide);    // IQ1 to IQ3.
PromptKernel FindPromptKernelOfBlocks(BlockType type, bool is_wide);   // Q4_0 to Q8_0.
PromptKernel FindPromptKernelOfValues(BlockType type, bool is_wide);   // IQ4_NL, IQ4_XS, FP4.
PromptKernel FindPromptKernelOfFew(BlockType type, bool is_wide);      // One and two bits.
PromptKernel FindPromptKernelOfNumbers(BlockType type, bool is_wide);  // F16, BF16, F32.

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_KERNELS_H_
