// Eight neighbouring numbers as terms in shared memory. Device code.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_TERMS_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_TERMS_CUH_

#include <cstdint>

#include "strata/generate/kernels/cuda/half_products.h"
#include "strata/generate/kernels/cuda/prompt_split.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

__device__ __forceinline__ void LoadEightFloats(const float* from, float (&values)[8]) {
  const float4 low = reinterpret_cast<const float4*>(from)[0];
  const float4 high = reinterpret_cast<const float4*>(from)[1];
  values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
  values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
}

// One term of each.
__device__ __forceinline__ void StoreTerm(const uint16_t (&terms)[8], uint8_t* to) {
  uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    words[i] = terms[2 * i] | static_cast<uint32_t>(terms[2 * i + 1]) << 16;
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}

// Terms lie `term_bytes` apart.
__device__ __forceinline__ void StoreBfloats(const float (&values)[8], uint8_t* to,
                                             int term_bytes) {
  ThreeBfloats split[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) split[i] = SplitBfloats(values[i]);
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    uint16_t terms[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) terms[i] = split[i].term[k];
    StoreTerm(terms, to + k * term_bytes);
  }
}

// The same as two halves each, where the values times `power` are below 2^16.
__device__ __forceinline__ void StoreHalves(const float (&values)[8], float power, uint8_t* to,
                                            int term_bytes) {
  uint16_t high[8], low[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const TwoHalves split = SplitInHalves(f32::Mul(values[i], power));
    high[i] = split.upper;
    low[i] = split.lower;
  }
  StoreTerm(high, to);
  StoreTerm(low, to + term_bytes);
}

__device__ __forceinline__ uint32_t MaxMagnitudeBits(const float (&values)[8]) {
  uint32_t max = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) max = ::max(max, f32::MagnitudeBits(values[i]));
  return max;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_TERMS_CUH_
