// Logarithm and exponential good to about 1e-3, made of single-precision additions and
// multiplications alone: the same bits on every machine, which the C library does not promise, and
// quick enough to score every expert at every step.
#ifndef STRATA_CACHE_POLICY_FAST_MATH_H_
#define STRATA_CACHE_POLICY_FAST_MATH_H_

#include <bit>
#include <cstdint>

namespace strata {

// Base 2, of a positive normal number.
inline float FastLog2(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  const auto exponent = static_cast<float>((bits >> 23) - 127);
  const float mantissa = std::bit_cast<float>((bits & 0x007fffff) | 0x3f800000) - 1;  // 0 to 1.
  // A cubic that meets log2(1 + m) at both ends.
  return exponent + mantissa * (1.42286530f + mantissa * (-0.58208536f + mantissa * 0.15922006f));
}

// 2 to the power of x, x cut to -126 .. 126.
inline float FastExp2(float x) {
  x = x > -126 ? x : -126;  // std::clamp takes references, of which compilers make no vectors.
  x = x < 126 ? x : 126;
  const auto whole = static_cast<int32_t>(x + 127) - 127;  // Rounded down.
  const float part = x - static_cast<float>(whole);
  const float power = 1 + part * (0.69583282f + part * (0.22606716f + part * 0.07810002f));
  return std::bit_cast<float>((whole + 127) << 23) * power;
}

// 1 / (1 + e^-x).
inline float FastSigmoid(float x) { return 1 / (1 + FastExp2(-1.44269504f * x)); }

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_FAST_MATH_H_
