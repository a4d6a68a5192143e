#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/prompt_attend_kernel.cuh"
#include "strata/generate/kernels/cuda/prompt_attend_kernels.h"

namespace strata {

PromptAttendKernel PromptAttendKernelOfF32(int size) {
  return PromptAttendKernelFor<KvFormat::kF32>(size);
}

}  // namespace strata
