// ApplyDeltaRule (delta_rule.h) written out in registers.
#ifndef STRATA_GENERATE_KERNELS_X86_DELTA_KERNELS_H_
#define STRATA_GENERATE_KERNELS_X86_DELTA_KERNELS_H_

#include "strata/generate/kernels/delta_memory.h"
#include "strata/generate/kernels/isa.h"

namespace strata::x86 {

using DeltaKernel = void (*)(const DeltaToken& token, const float* before, float* after,
                             float* out);

void ApplyDeltaRuleAvx2(const DeltaToken& token, const float* before, float* after, float* out);
void ApplyDeltaRuleAvx512(const DeltaToken& token, const float* before, float* after, float* out);

// kAvx2 or kAvx512.
inline DeltaKernel DeltaKernelOf(Isa isa) {
  return isa == Isa::kAvx512 ? ApplyDeltaRuleAvx512 : ApplyDeltaRuleAvx2;
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_DELTA_KERNELS_H_
