// The functions of vector_math.h that are written out in registers.
#ifndef STRATA_GENERATE_KERNELS_X86_VECTOR_KERNELS_H_
#define STRATA_GENERATE_KERNELS_X86_VECTOR_KERNELS_H_

#include <cstdint>

#include "strata/generate/kernels/isa.h"

namespace strata::x86 {

struct VectorKernels {
  float (*sum)(const float* x, int64_t n);
  // results[i] = x . row i, of `count` rows of n.
  void (*dot_rows)(const float* x, int64_t n, const float* rows, int64_t count, float* results);
  void (*to_floats)(const uint16_t* halves, int64_t n, float* floats);
  void (*to_halves)(const float* floats, int64_t n, uint16_t* halves);
};

extern const VectorKernels kVectorKernelsAvx2;
extern const VectorKernels kVectorKernelsAvx512;

// kAvx2 or kAvx512.
inline const VectorKernels& VectorKernelsOf(Isa isa) {
  return isa == Isa::kAvx512 ? kVectorKernelsAvx512 : kVectorKernelsAvx2;
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_VECTOR_KERNELS_H_
