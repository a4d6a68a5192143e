// tanh, and gelu in its form with tanh: for models that need them, in the operations of numerics.h.
#ifndef STRATA_GENERATE_NUMERICS_HYPERBOLIC_H_
#define STRATA_GENERATE_NUMERICS_HYPERBOLIC_H_

#include "strata/generate/numerics/numerics.h"

namespace strata::f32 {

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), which is x * sigmoid of twice that angle.
STRATA_NUMERIC float Gelu(float x) {
  const float angle = Mul(x, Fma(0x1.2444f2p-4f, Mul(x, x), 0x1.988454p+0f));
  return Div(x, Add(1.0f, Exp(-angle)));
}

// (1 - u) / (1 + u) with u = e^-2|x|, and the sign of x. Within 2^-23, whatever x.
STRATA_NUMERIC float Tanh(float x) {
  const float u = Exp(Mul(-2.0f, x < 0.0f ? -x : x));
  const float magnitude = Div(Sub(1.0f, u), Add(1.0f, u));
  return x < 0.0f ? -magnitude : magnitude;
}

}  // namespace strata::f32

#endif  // STRATA_GENERATE_NUMERICS_HYPERBOLIC_H_
