// f32 numbers as sums of narrower ones whose products tensor cores add up exactly enough: two
// halves (half_products.h) under a power of two, or three bfloat16. For host and device.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_SPLIT_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_SPLIT_H_

#include <cstdint>

#include "strata/generate/numerics/numerics.h"

namespace strata {

// x = term[0] + term[1] + term[2], exactly but for numbers near the smallest.
struct ThreeBfloats {
  uint16_t term[3];
};
STRATA_NUMERIC ThreeBfloats SplitBfloats(float x) {
  ThreeBfloats split;
  split.term[0] = f32::ToBf16(x);
  x = f32::Sub(x, f32::FromBf16(split.term[0]));
  split.term[1] = f32::ToBf16(x);
  split.term[2] = f32::ToBf16(f32::Sub(x, f32::FromBf16(split.term[1])));
  return split;
}

// Powers of two that bring numbers of these greatest magnitude bits below 2^15, and back.
struct PowerOfTwo {
  float down, up;
};
STRATA_NUMERIC PowerOfTwo PowerFor(uint32_t max_bits) {
  constexpr uint32_t kLeast = 27;  // 2^-100: smaller numbers need no more.
  uint32_t exponent = max_bits >> 23;
  if (exponent < kLeast) exponent = kLeast;
  return {f32::FromBits((268u - exponent) << 23), f32::FromBits((exponent - 14u) << 23)};
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_SPLIT_H_
