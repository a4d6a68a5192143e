#include "strata/generate/kernels/mat_mul.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/weight_matrix.h"
#if defined(__x86_64__)
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#endif

namespace strata {
namespace {

void MatMulScalar(const WeightMatrix& weights, RowRange rows, absl::Span<const ActivationView> xs,
                  absl::Span<float* const> ys) {
  std::vector<float> results(xs.size());
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    RowDots(weights.type, weights.row(r), xs, absl::MakeSpan(results));
    for (size_t v = 0; v < ys.size(); ++v) ys[v][r] = results[v];
  }
}

}  // namespace

bool MatMul(const WeightMatrix& weights, RowRange rows, absl::Span<const ActivationView> xs,
            absl::Span<float* const> ys) {
  CHECK_EQ(xs.size(), ys.size());
  CHECK(0 <= rows.begin && rows.end <= weights.rows) << rows.begin << ".." << rows.end;
  const std::optional<ActivationForm> form = ActivationFormOf(weights.type);
  for (const ActivationView& x : xs) CHECK(x.size == weights.columns && x.form == form);
  if (xs.empty() || rows.begin >= rows.end) return true;
  const Isa isa = CurrentIsa();
  if (isa == Isa::kScalar) {
    MatMulScalar(weights, rows, xs, ys);
  } else {
#if defined(__x86_64__)
    x86::KernelFor(isa, weights.type, xs.size())(weights, rows, xs, ys);
#endif
  }
  return std::all_of(ys.begin(), ys.end(), [rows](const float* y) {
    return AreFinite(
        absl::MakeConstSpan(y + rows.begin, static_cast<size_t>(rows.end - rows.begin)));
  });
}

}  // namespace strata
