// Rows of plain numbers.
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/dot_avx2.h"
#include "strata/generate/kernels/x86/kernels_avx2.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx2 {
namespace {

template <typename Row>
STRATA_AVX2 void NumberDots(const WeightMatrix& weights, RowRange rows,
                            absl::Span<const ActivationView> xs, absl::Span<float* const> ys) {
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const auto* row = reinterpret_cast<const uint8_t*>(weights.row(r));
    for (size_t v = 0; v < xs.size(); ++v) {
      ys[v][r] = DotOfRow<Row>(row, xs[v].values, weights.columns);
    }
  }
}

}  // namespace

MatMulKernel FindNumberKernel(BlockType type) {
  switch (type) {
    case BlockType::kF32:
      return NumberDots<F32Row>;
    case BlockType::kF16:
      return NumberDots<F16Row>;
    case BlockType::kBF16:
      return NumberDots<BF16Row>;
    default:
      return nullptr;
  }
}

}  // namespace strata::x86::avx2
