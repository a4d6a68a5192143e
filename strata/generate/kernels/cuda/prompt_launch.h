// Finding and launching a product kernel of prompts for arguments whose tiles are not yet counted.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_LAUNCH_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_LAUNCH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_arguments.h"
#include "strata/generate/kernels/cuda/prompt_product.h"

namespace strata {

// Vectors that the kernel meets, and how they lie.
struct PromptVectors {
  int64_t count = 0;
  int64_t max_tiles = 0;  // Of arguments.tiles; 0 without.
};

// Sets the fields of `arguments` that follow from `type` and the targets' rows: row_bytes,
// first_tile. kUnimplemented when no kernel knows the type.
absl::Status LaunchPromptKernel(absl::string_view name, BlockType type, PromptArguments arguments,
                                const PromptVectors& vectors, const PromptPlan& plan,
                                const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_LAUNCH_H_
