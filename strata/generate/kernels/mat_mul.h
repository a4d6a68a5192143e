// Products of a matrix of weights, where it lies, with one or many vectors of activations. Each
// output value has the bits of RowDot, whatever the rows and vectors computed beside it.
#ifndef STRATA_GENERATE_KERNELS_MAT_MUL_H_
#define STRATA_GENERATE_KERNELS_MAT_MUL_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"

namespace strata {

// Borrowed: rows of whole blocks one after the other. One expert of a merged tensor is such a
// matrix.
struct WeightMatrix {
  BlockType type = BlockType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  const std::byte* data = nullptr;

  int64_t row_bytes() const;
  const std::byte* row(int64_t index) const { return data + index * row_bytes(); }
};

struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// ys[v][r] = row r . xs[v] for each r of `rows`: threads share one product by ranges. xs are of
// ActivationFormOf(weights.type), ys[v] holds weights.rows values.
//
// False when a result is NaN or infinite, as it is whenever a block scale or an activation was.
[[nodiscard]] bool MatMul(const WeightMatrix& weights, RowRange rows,
                          absl::Span<const ActivationView> xs, absl::Span<float* const> ys);

// One vector, all rows.
[[nodiscard]] bool MatVec(const WeightMatrix& weights, const ActivationView& x,
                          absl::Span<float> y);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_MAT_MUL_H_
