#include "strata/generate/kernels/mat_mul.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/numerics.h"
#include "strata/generate/kernels/row_dot.h"

namespace strata {

int64_t WeightMatrix::row_bytes() const {
  const BlockTypeInfo& info = InfoOf(type);
  return columns / info.block_weights * info.block_bytes;
}

bool MatMul(const WeightMatrix& weights, RowRange rows, absl::Span<const ActivationView> xs,
            absl::Span<float* const> ys) {
  CHECK_EQ(xs.size(), ys.size());
  CHECK(0 <= rows.begin && rows.end <= weights.rows) << rows.begin << ".." << rows.end;
  for (const ActivationView& x : xs) CHECK_EQ(x.size, weights.columns);
  bool finite = true;
  std::vector<float> results(xs.size());
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    RowDots(weights.type, weights.row(r), xs, absl::MakeSpan(results));
    for (size_t v = 0; v < ys.size(); ++v) {
      ys[v][r] = results[v];
      finite = finite && f32::IsFinite(results[v]);
    }
  }
  return finite;
}

bool MatVec(const WeightMatrix& weights, const ActivationView& x, absl::Span<float> y) {
  CHECK_EQ(static_cast<int64_t>(y.size()), weights.rows);
  float* const out = y.data();
  return MatMul(weights, {0, weights.rows}, absl::MakeConstSpan(&x, 1),
                absl::MakeConstSpan(&out, 1));
}

}  // namespace strata
