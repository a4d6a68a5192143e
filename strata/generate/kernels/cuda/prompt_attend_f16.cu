#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/prompt_attend_kernel.cuh"
#include "strata/generate/kernels/cuda/prompt_attend_kernels.h"

namespace strata {

PromptAttendKernel PromptAttendKernelOfF16(int size) {
  return PromptAttendKernelFor<KvFormat::kF16>(size);
}

}  // namespace strata
