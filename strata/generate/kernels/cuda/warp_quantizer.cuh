// Activations to int8 by a warp: the bits of kernels/activation.h. Values are read past the first
// level of cache, since other blocks may have written them, and begin at multiples of 16 bytes.
#ifndef STRATA_GENERATE_KERNELS_CUDA_WARP_QUANTIZER_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_WARP_QUANTIZER_CUH_

#include <cstdint>

#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// A block of 32 * kValues, of which this lane has neighbours. Returns the scale.
template <int kValues>
__device__ __forceinline__ float QuantizeInWarp(const float (&values)[kValues],
                                                int8_t (&q)[kValues]) {
  uint32_t most = 0;
#pragma unroll
  for (int i = 0; i < kValues; ++i) most = max(most, f32::MagnitudeBits(values[i]));
  const float magnitude = f32::FromBits(__reduce_max_sync(0xffffffffu, most));
  if (magnitude < 0x1p-100f) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) q[i] = 0;
    return 0.0f;
  }
  const float inverse = f32::Div(127.0f, magnitude);
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    q[i] = static_cast<int8_t>(f32::RoundToInt(f32::Mul(values[i], inverse)));
  }
  return f32::Mul(magnitude, 0x1.020408p-7f);
}

// The block of 256 values at `values`, number `block` of `rows`.
__device__ __forceinline__ void QuantizeBlock256(const float* values, int64_t block,
                                                 const DeviceInt8Rows& rows) {
  const int lane = threadIdx.x % 32;
  const float4* const from = reinterpret_cast<const float4*>(values + 8 * lane);
  const float4 a = __ldcg(from), b = __ldcg(from + 1);
  const float own[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  int8_t q[8];
  const float scale = QuantizeInWarp(own, q);
  int sum = 0;
  uint32_t words[2] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    sum += q[i];
    words[i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(q[i])) << 8 * (i % 4);
  }
  reinterpret_cast<uint2*>(rows.q + 256 * block)[lane] = make_uint2(words[0], words[1]);
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  if (lane % 2 == 0) rows.sums[16 * block + lane / 2] = static_cast<int16_t>(sum);
  if (lane == 0) rows.scales[block] = scale;
}

// The same for a block of 32.
__device__ __forceinline__ void QuantizeBlock32(const float* values, int64_t block,
                                                const DeviceInt8Rows& rows) {
  const int lane = threadIdx.x % 32;
  const float own[1] = {__ldcg(values + lane)};
  int8_t q[1];
  const float scale = QuantizeInWarp(own, q);
  rows.q[32 * block + lane] = q[0];
  const int sum = __reduce_add_sync(0xffffffffu, static_cast<int>(q[0]));
  if (lane == 0) {
    rows.sums[block] = static_cast<int16_t>(sum);
    rows.scales[block] = scale;
  }
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_WARP_QUANTIZER_CUH_
