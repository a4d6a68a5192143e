// The kernels of prompt_attend.h by format of the cache; a format a file, so that they compile
// apart.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_KERNELS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_KERNELS_H_

#include <cstddef>

#include "strata/generate/kernels/cuda/prompt_attend.h"

namespace strata {

struct PromptAttendKernel {
  void (*kernel)(PromptAttendTask, int heads) = nullptr;
  int threads = 0;
  int slots = 0;  // Pairs of a row and a head that a block takes.
  size_t shared_bytes = 0;
};

// For heads whose keys and values have at most `size` values; null for larger ones.
PromptAttendKernel PromptAttendKernelOfF16(int size);
PromptAttendKernel PromptAttendKernelOfInt8(int size);
PromptAttendKernel PromptAttendKernelOfF32(int size);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_KERNELS_H_
