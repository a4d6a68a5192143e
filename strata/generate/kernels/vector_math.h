// Sums and products of f32 vectors on the current instruction set. The bits are those of
// accumulators.h and of plain loops over numerics.h.
#ifndef STRATA_GENERATE_KERNELS_VECTOR_MATH_H_
#define STRATA_GENERATE_KERNELS_VECTOR_MATH_H_

#include <cstdint>

#include "absl/types/span.h"

namespace strata {

// f32::Dot and f32::Sum.
float Dot(absl::Span<const float> a, absl::Span<const float> b);
float Sum(absl::Span<const float> x);

// The greatest value of x, which is not empty and has no NaN; +0 is greater than -0.
float Max(absl::Span<const float> x);

// False when a value is NaN or infinite.
bool AreFinite(absl::Span<const float> x);

// The first place of the greatest value of x, which is not empty and has no NaN; -0 equals +0.
int64_t ArgMax(absl::Span<const float> x);

// results[i] = x . row i of `rows`, which lie one after the other.
void DotRows(absl::Span<const float> x, const float* rows, absl::Span<float> results);

// result[j] = the chain of fma(weights[i], row i [j], .) from +0 over ascending i. Rows lie one
// after the other, or each `stride` values behind the one before it.
void SumWeightedRows(absl::Span<const float> weights, const float* rows, absl::Span<float> result);
void SumWeightedRows(absl::Span<const float> weights, const float* rows, int64_t stride,
                     absl::Span<float> result);

// y = fma(weight, x, y)
void AddWeighted(float weight, absl::Span<const float> x, absl::Span<float> y);

// y = y + weight * x, rounded twice.
void AddProduct(float weight, absl::Span<const float> x, absl::Span<float> y);

// y = fma(y, old_weight, x * weight)
void Join(float old_weight, float weight, absl::Span<const float> x, absl::Span<float> y);

// x = factor * x
void Scale(float factor, absl::Span<float> x);

// x = f32::Silu(x)
void ApplySilu(absl::Span<float> x);

// x = cap * f32::Tanh(x / cap)
void CapSoftly(float cap, absl::Span<float> x);

// y = x * y
void MultiplyInto(absl::Span<const float> x, absl::Span<float> y);

// x = f32::Exp(x - shift)
void ExpOfDifference(float shift, absl::Span<float> x);

// Exact; to the nearest half, ties to even.
void HalvesToFloats(absl::Span<const uint16_t> halves, absl::Span<float> floats);
void FloatsToHalves(absl::Span<const float> floats, absl::Span<uint16_t> halves);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_VECTOR_MATH_H_
