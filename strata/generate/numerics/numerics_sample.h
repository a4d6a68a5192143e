// Every operation of numerics.h once, so that a test can compare host and device bit by bit.
#ifndef STRATA_GENERATE_NUMERICS_NUMERICS_SAMPLE_H_
#define STRATA_GENERATE_NUMERICS_NUMERICS_SAMPLE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/generate/numerics/accumulators.h"
#include "strata/generate/numerics/hyperbolic.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

struct NumericsInput {
  float a;
  float b;
  float c;
};

struct NumericsSample {
  static constexpr int kCount = 16;
  uint32_t bits[kCount];
};

STRATA_NUMERIC NumericsSample SampleNumerics(const NumericsInput& in) {
  const float values[3] = {in.a, in.b, in.c};
  const auto half = static_cast<uint16_t>(f32::Bits(in.a) >> 16);
  return {{f32::Bits(f32::Add(f32::Mul(in.a, in.b), in.c)), f32::Bits(f32::Sub(in.a, in.b)),
           f32::Bits(f32::Mul(in.a, in.b)), f32::Bits(f32::Div(in.a, in.b)),
           f32::Bits(f32::Sqrt(in.a < 0.0f ? -in.a : in.a)), f32::Bits(f32::Fma(in.a, in.b, in.c)),
           f32::Bits(f32::FromInt(static_cast<int32_t>(f32::Bits(in.a)))),
           f32::Bits(f32::FromF16(half)), f32::ToF16(in.a), f32::ToBf16(in.a),
           f32::Bits(f32::Exp(in.a)), f32::Bits(f32::Silu(in.a)), f32::Bits(f32::Softplus(in.a)),
           f32::Bits(f32::Gelu(in.a)), f32::Bits(f32::Tanh(in.a)),
           f32::Bits(f32::SumOfSquares(values, 3))}};
}

// samples[i] = SampleNumerics(inputs[i]) on the first CUDA device; kUnavailable when there is none.
absl::Status SampleNumericsOnDevice(absl::Span<const NumericsInput> inputs,
                                    absl::Span<NumericsSample> samples);

}  // namespace strata

#endif  // STRATA_GENERATE_NUMERICS_NUMERICS_SAMPLE_H_
