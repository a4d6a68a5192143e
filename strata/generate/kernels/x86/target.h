// How a function is compiled for an instruction set whatever the rest of the program is compiled
// for. A function so marked may only run where IsSupported says so; one that is inlined into it
// needs the same mark (or none).
//
// Contraction is off for the whole project, so no compiler fuses the multiply and the add of two
// intrinsics into one.
#ifndef STRATA_GENERATE_KERNELS_X86_TARGET_H_
#define STRATA_GENERATE_KERNELS_X86_TARGET_H_

#if !defined(__x86_64__)
#error "for x86 alone"
#endif

#include <immintrin.h>

#define STRATA_AVX2 __attribute__((target("avx2,fma,f16c")))
#define STRATA_AVX512 \
  __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define STRATA_INLINE inline __attribute__((always_inline))

#endif  // STRATA_GENERATE_KERNELS_X86_TARGET_H_
