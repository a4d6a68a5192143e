// The only arithmetic that results are made of: single IEEE 754 operations on f32, rounded to
// nearest even, subnormals kept, the same bits on the host and on the device. Kernels of every
// instruction set must agree with what these functions give, so all f32 arithmetic that reaches a
// result goes through them (or through vector instructions of the same meaning).
//
// - The host needs -ffp-contract=off (.bazelrc; the targets here repeat it): GCC would fuse a Mul
//   and an Add. The device intrinsics are never fused, so nvcc needs no flag.
// - MXCSR must be at its default (round to nearest, subnormals kept); numerics_test looks.
// - No function here gives defined bits for NaN: the payload differs between CPU and GPU. Callers
//   find NaN and infinity by IsFinite and report them instead of a result.
//
// Everything is inlined by force: a copy compiled for a newer instruction set must not be the one
// that the linker keeps for all.
#ifndef STRATA_GENERATE_NUMERICS_NUMERICS_H_
#define STRATA_GENERATE_NUMERICS_NUMERICS_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#include <cuda_fp16.h>
#define STRATA_NUMERIC __host__ __device__ __forceinline__
#else
#define STRATA_NUMERIC inline __attribute__((always_inline))
#endif

#ifdef __FAST_MATH__
#error "results must not depend on the compiler: no -ffast-math"
#endif

namespace strata::f32 {

STRATA_NUMERIC uint32_t Bits(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
#endif
}

STRATA_NUMERIC float FromBits(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
#endif
}

#ifdef __CUDA_ARCH__
STRATA_NUMERIC float Add(float a, float b) { return __fadd_rn(a, b); }
STRATA_NUMERIC float Sub(float a, float b) { return __fsub_rn(a, b); }
STRATA_NUMERIC float Mul(float a, float b) { return __fmul_rn(a, b); }
STRATA_NUMERIC float Div(float a, float b) { return __fdiv_rn(a, b); }
STRATA_NUMERIC float Sqrt(float a) { return __fsqrt_rn(a); }
STRATA_NUMERIC float Fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
STRATA_NUMERIC float FromInt(int32_t i) { return __int2float_rn(i); }
#else
STRATA_NUMERIC float Add(float a, float b) { return a + b; }
STRATA_NUMERIC float Sub(float a, float b) { return a - b; }
STRATA_NUMERIC float Mul(float a, float b) { return a * b; }
STRATA_NUMERIC float Div(float a, float b) { return a / b; }
STRATA_NUMERIC float Sqrt(float a) { return std::sqrt(a); }
STRATA_NUMERIC float Fma(float a, float b, float c) { return std::fma(a, b, c); }
STRATA_NUMERIC float FromInt(int32_t i) { return static_cast<float>(i); }
#endif

// The bits of |x|. As unsigned integers they are ordered like the magnitudes, so a maximum over
// them is exact in any order.
STRATA_NUMERIC uint32_t MagnitudeBits(float x) { return Bits(x) & 0x7fffffffu; }
inline constexpr uint32_t kInfinityBits = 0x7f800000u;
STRATA_NUMERIC bool IsFinite(float x) { return MagnitudeBits(x) < kInfinityBits; }

// x to the nearest integer, ties to even. |x| <= 2^22.
STRATA_NUMERIC int32_t RoundToInt(float x) {
  // Beside this number neighbouring floats are 1 apart, so the addition itself rounds.
  constexpr float kShift = 0x1.8p+23f;
  return static_cast<int32_t>(Bits(Add(x, kShift)) - 0x4b400000u);
}

// An IEEE half, exact.
STRATA_NUMERIC float FromF16(uint16_t half) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(half));
#else
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 31u;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    return FromBits(sign | Bits(Mul(static_cast<float>(fraction), 0x1p-24f)));
  }
  const uint32_t wide_exponent = exponent == 31 ? 255u : exponent + 112u;
  return FromBits(sign | wide_exponent << 23 | fraction << 13);
#endif
}

// To the nearest half, ties to even; beyond the largest half, infinity.
STRATA_NUMERIC uint16_t ToF16(float x) {
#ifdef __CUDA_ARCH__
  return __half_as_ushort(__float2half_rn(x));
#else
  const uint32_t sign = Bits(x) >> 16 & 0x8000u;
  const uint32_t magnitude = MagnitudeBits(x);
  if (magnitude > kInfinityBits) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= Bits(0x1p16f)) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < Bits(0x1p-14f)) {
    // Subnormal halves are 2^-24 apart, as are the floats between 0.5 and 1.
    return static_cast<uint16_t>(sign | (Bits(Add(FromBits(magnitude), 0.5f)) - Bits(0.5f)));
  }
  const uint32_t odd = magnitude >> 13 & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - (112u << 23) + 0xfffu + odd) >> 13));
#endif
}

// bfloat16 is the upper half of an f32: exact one way, to nearest even the other.
STRATA_NUMERIC float FromBf16(uint16_t half) { return FromBits(static_cast<uint32_t>(half) << 16); }
STRATA_NUMERIC uint16_t ToBf16(float x) {
  const uint32_t bits = Bits(x);
  if (MagnitudeBits(x) > kInfinityBits) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// e^x for x clamped to [-87, 88], at most 0.94 ulp off. Not zero for x = -infinity: leave masked
// entries out instead.
STRATA_NUMERIC float Exp(float x) {
  x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  constexpr float kShift = 0x1.8p+23f;
  const float shifted = Fma(x, 0x1.715476p+0f, kShift);  // n = x / ln 2, rounded, in the low bits.
  const float n = Sub(shifted, kShift);
  float r = Fma(n, -0x1.62e430p-1f, x);
  r = Fma(n, 0x1.05c610p-29f, r);
  float p = 0x1.a01a02p-13f;
  p = Fma(p, r, 0x1.6c16c2p-10f);
  p = Fma(p, r, 0x1.111112p-7f);
  p = Fma(p, r, 0x1.555556p-5f);
  p = Fma(p, r, 0x1.555556p-3f);
  p = Fma(p, r, 0.5f);
  p = Fma(p, r, 1.0f);
  p = Fma(p, r, 1.0f);
  return FromBits(Bits(p) + (Bits(shifted) << 23));
}

STRATA_NUMERIC float Sigmoid(float x) { return Div(1.0f, Add(1.0f, Exp(-x))); }
STRATA_NUMERIC float Silu(float x) { return Div(x, Add(1.0f, Exp(-x))); }

// ln(1 + e^x) = max(x, 0) + ln(1 + u) with u = e^-|x|, and ln(1 + u) = 2 artanh(s) with
// s = u / (2 + u) <= 1/3, whose series in s^2 ends here at s^17.
STRATA_NUMERIC float Softplus(float x) {
  const float u = Exp(x < 0.0f ? x : -x);
  const float s = Div(u, Add(2.0f, u));
  const float t = Mul(s, s);
  float p = 0x1.e1e1e2p-5f;  // 1/17
  p = Fma(p, t, 0x1.111112p-4f);
  p = Fma(p, t, 0x1.3b13b2p-4f);
  p = Fma(p, t, 0x1.745d18p-4f);
  p = Fma(p, t, 0x1.c71c72p-4f);
  p = Fma(p, t, 0x1.24924ap-3f);
  p = Fma(p, t, 0x1.99999ap-3f);
  p = Fma(p, t, 0x1.555556p-2f);
  p = Fma(p, t, 1.0f);
  const float log = Mul(Mul(2.0f, s), p);
  return x > 0.0f ? Add(x, log) : log;
}

}  // namespace strata::f32

#endif  // STRATA_GENERATE_NUMERICS_NUMERICS_H_
