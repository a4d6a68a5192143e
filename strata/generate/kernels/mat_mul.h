// Products of a matrix of weights, where it lies, with one or many vectors of activations. Each
// output value has the bits of RowDot, whatever the rows and vectors computed beside it and
// whatever the instruction set (CurrentIsa).
#ifndef STRATA_GENERATE_KERNELS_MAT_MUL_H_
#define STRATA_GENERATE_KERNELS_MAT_MUL_H_

#include "absl/types/span.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {

// ys[v][r] = row r . xs[v] for each r of `rows`: threads share one product by ranges. xs are of
// ActivationFormOf(weights.type), ys[v] holds weights.rows values.
//
// False when a result is NaN or infinite, as it is whenever a block scale or an activation was.
[[nodiscard]] bool MatMul(const WeightMatrix& weights, RowRange rows,
                          absl::Span<const ActivationView> xs, absl::Span<float* const> ys);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_MAT_MUL_H_
