// Numbers as sums of two halves, and the tensor core's product of halves.
#ifndef STRATA_GENERATE_KERNELS_CUDA_HALF_PRODUCTS_H_
#define STRATA_GENERATE_KERNELS_CUDA_HALF_PRODUCTS_H_

#include <cstdint>

#include "strata/generate/numerics/numerics.h"

namespace strata {

// The power of two at most as large as the number with these bits, within the normal numbers whose
// inverse is one too; 1 for numbers outside.
STRATA_NUMERIC float PowerOfTwoBelow(uint32_t magnitude_bits) {
  const uint32_t exponent = magnitude_bits >> 23;
  return exponent < 1 || exponent > 253 ? 1.0f : f32::FromBits(exponent << 23);
}

// x as the sum of two halves, with 22 bits between them; |x| < 65504.
struct TwoHalves {
  uint16_t upper;
  uint16_t lower;
};
STRATA_NUMERIC TwoHalves SplitInHalves(float x) {
  const uint16_t upper = f32::ToF16(x);
  return {upper, f32::ToF16(f32::Sub(x, f32::FromF16(upper)))};
}

#ifdef __CUDACC__

// c = a b + c, m16n8k16.
__device__ __forceinline__ void MultiplyHalves(const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                               float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two numbers as a pair of upper halves and a pair of lower ones, the first number below.
__device__ __forceinline__ void SplitPair(float first, float second, uint32_t& upper,
                                          uint32_t& lower) {
  const TwoHalves a = SplitInHalves(first);
  const TwoHalves b = SplitInHalves(second);
  upper = a.upper | static_cast<uint32_t>(b.upper) << 16;
  lower = a.lower | static_cast<uint32_t>(b.lower) << 16;
}

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_HALF_PRODUCTS_H_
