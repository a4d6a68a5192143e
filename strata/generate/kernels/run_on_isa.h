// Compiles one loop for each instruction set: the same source, so the same bits, in vectors as wide
// as the machine has.
#ifndef STRATA_GENERATE_KERNELS_RUN_ON_ISA_H_
#define STRATA_GENERATE_KERNELS_RUN_ON_ISA_H_

#include "strata/generate/kernels/isa.h"
#if defined(__x86_64__)
#include "strata/generate/kernels/x86/target.h"
#endif

namespace strata {

#if defined(__x86_64__)
template <typename Body>
STRATA_AVX2 void RunOnAvx2(Body body) {
  body();
}

template <typename Body>
STRATA_AVX512 void RunOnAvx512(Body body) {
  body();
}
#endif

// Calls `body` in a function compiled for CurrentIsa. It is a lambda that is inlined by force, as
// all that it calls must be (the functions of numerics.h are):
//
//     RunOnCurrentIsa([=]() __attribute__((always_inline)) {
//       for (int64_t i = 0; i < n; ++i) y[i] = f32::Mul(a, x[i]);
//     });
//
// The target needs the options VECTORIZED (numeric.bzl).
template <typename Body>
inline void RunOnCurrentIsa(Body body) {
#if defined(__x86_64__)
  switch (CurrentIsa()) {
    case Isa::kAvx512:
      return RunOnAvx512(body);
    case Isa::kAvx2:
      return RunOnAvx2(body);
    case Isa::kScalar:
      break;
  }
#endif
  body();
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_RUN_ON_ISA_H_
