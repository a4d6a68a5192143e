// Rows of plain numbers.
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/dot_avx512.h"
#include "strata/generate/kernels/x86/kernels_avx512.h"
#include "strata/generate/kernels/x86/mat_mul_kernel.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86::avx512 {
namespace {

template <typename Row, int kVectors>
STRATA_AVX512 STRATA_INLINE void DotsOfRow(const WeightMatrix& weights, int64_t row,
                                           const ActivationView* xs, float* const* ys) {
  const float* values[kVectors];
  for (int v = 0; v < kVectors; ++v) values[v] = xs[v].values;
  __m512 sums[kVectors];
  AccumulateRow<Row, kVectors>(reinterpret_cast<const uint8_t*>(weights.row(row)), values,
                               weights.columns, sums);
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) ys[v][row] = FoldLanes(sums[v]);
}

template <typename Row>
STRATA_AVX512 void NumberDots(const WeightMatrix& weights, RowRange rows,
                              absl::Span<const ActivationView> xs, absl::Span<float* const> ys) {
  // Vectors outside: three of them stay in the first-level cache while the rows pass.
  size_t v = 0;
  for (; v + 3 <= xs.size(); v += 3) {
    for (int64_t r = rows.begin; r < rows.end; ++r) DotsOfRow<Row, 3>(weights, r, &xs[v], &ys[v]);
  }
  for (; v < xs.size(); ++v) {
    for (int64_t r = rows.begin; r < rows.end; ++r) DotsOfRow<Row, 1>(weights, r, &xs[v], &ys[v]);
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

}  // namespace strata::x86::avx512
