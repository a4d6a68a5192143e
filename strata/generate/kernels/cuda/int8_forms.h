// Bringing f32 values into the int8 forms of numerics (kernels/activation.h), bit for bit: the
// arithmetic of one block for host and device, and a warp that does 256 values at once.
#ifndef STRATA_GENERATE_KERNELS_CUDA_INT8_FORMS_H_
#define STRATA_GENERATE_KERNELS_CUDA_INT8_FORMS_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// How the values of a block become int8: multiplied by `inverse`, rounded.
struct Int8Scale {
  float inverse = 0.0f;  // 0: all are zero.
  float scale = 0.0f;
};

// Of a block whose greatest magnitude has these bits. Zero if that is tiny, infinite or NaN.
STRATA_NUMERIC Int8Scale Int8ScaleOf(uint32_t max_bits) {
  Int8Scale scale;
  if (max_bits >= f32::kInfinityBits || f32::FromBits(max_bits) < 0x1p-100f) return scale;
  scale.inverse = f32::Div(127.0f, f32::FromBits(max_bits));
  scale.scale = f32::Mul(f32::FromBits(max_bits), 0x1.020408p-7f);  // 1 / 127
  return scale;
}

// Within -127 .. 127 for magnitudes of at most the block's.
STRATA_NUMERIC int32_t ToInt8(float x, const Int8Scale& scale) {
  return scale.inverse == 0.0f ? 0 : f32::RoundToInt(f32::Mul(x, scale.inverse));
}

#ifdef __CUDACC__

// Eight neighbouring values of a lane; a warp holds 256 in the order of its lanes.
struct EightValues {
  float v[8];
};

// Of 8 values under one scale: their codes as 8 bytes, and the sum of these.
struct EightCodes {
  uint2 bytes;
  int sum;
};

__device__ __forceinline__ EightCodes ToCodes(const EightValues& values, const Int8Scale& scale) {
  EightCodes codes = {{0, 0}, 0};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int q = ToInt8(values.v[i], scale);
    codes.sum += q;
    (i < 4 ? codes.bytes.x : codes.bytes.y) |= (q & 0xff) << 8 * (i % 4);
  }
  return codes;
}

// Stores values [index, index + 8) of a row in all forms of `out`. Called by whole warps: lane i
// has those 8 i behind the first lane's, which is a multiple of the block of each form that is
// there. Lanes beyond the row pass is_there = false, whole blocks of 32 alike.
__device__ __forceinline__ void StoreForms(const DeviceActivations& out, int row, int64_t index,
                                           bool is_there, const EightValues& values,
                                           const FaultReport& fault, int fault_row) {
  constexpr uint32_t kAll = 0xffffffffu;
  const int lane = threadIdx.x % 32;
  const int64_t at = row * out.size + index;
  uint32_t max = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint32_t magnitude = is_there ? f32::MagnitudeBits(values.v[i]) : 0;
    max = magnitude > max ? magnitude : max;
  }
  if (max >= f32::kInfinityBits) ReportFault(fault, fault_row);
  if (is_there && out.values != nullptr) {
    auto* to = reinterpret_cast<float4*>(out.values + at);
    to[0] = make_float4(values.v[0], values.v[1], values.v[2], values.v[3]);
    to[1] = make_float4(values.v[4], values.v[5], values.v[6], values.v[7]);
  }
  if (out.a32.q != nullptr) {
    uint32_t block_max = max;
#pragma unroll
    for (int mask = 1; mask < 4; mask *= 2) {
      const uint32_t other = __shfl_xor_sync(kAll, block_max, mask);
      block_max = other > block_max ? other : block_max;
    }
    const Int8Scale scale = Int8ScaleOf(block_max);
    const EightCodes codes = ToCodes(values, scale);
    int sum = codes.sum + __shfl_xor_sync(kAll, codes.sum, 1);
    sum += __shfl_xor_sync(kAll, sum, 2);
    if (is_there) *reinterpret_cast<uint2*>(out.a32.q + at) = codes.bytes;
    if (is_there && lane % 4 == 0) {
      out.a32.scales[at / 32] = scale.scale;
      out.a32.sums[at / 32] = static_cast<int16_t>(sum);
    }
  }
  if (out.a256.q != nullptr) {
    const Int8Scale scale = Int8ScaleOf(__reduce_max_sync(kAll, max));
    const EightCodes codes = ToCodes(values, scale);
    const int sum = codes.sum + __shfl_xor_sync(kAll, codes.sum, 1);
    if (is_there) *reinterpret_cast<uint2*>(out.a256.q + at) = codes.bytes;
    if (is_there && lane % 2 == 0) out.a256.sums[at / 16] = static_cast<int16_t>(sum);
    if (is_there && lane == 0) out.a256.scales[at / 256] = scale.scale;
  }
}

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_INT8_FORMS_H_
