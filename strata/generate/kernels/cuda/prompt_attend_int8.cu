#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/prompt_attend_kernel.cuh"
#include "strata/generate/kernels/cuda/prompt_attend_kernels.h"

namespace strata {

PromptAttendKernel PromptAttendKernelOfInt8(int size) {
  return PromptAttendKernelFor<KvFormat::kInt8>(size);
}

}  // namespace strata
