// The way of all row kernels through a matrix: some rows at a time, and for each group of rows the
// vectors by twos.
#ifndef STRATA_GENERATE_KERNELS_X86_ROW_GROUPS_H_
#define STRATA_GENERATE_KERNELS_X86_ROW_GROUPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/target.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86 {

// Up to kRows neighbouring rows. Where the last are missing, the last that exists stands for them.
template <int kRows>
struct RowGroup {
  const uint8_t* rows[kRows];
  int64_t row_bytes;
  int64_t columns;
  int64_t first;  // Number of the first row.
  int count;      // Rows that exist.

  RowGroup(const WeightMatrix& weights, int64_t first_row, int64_t end_row)
      : row_bytes(weights.row_bytes()),
        columns(weights.columns),
        first(first_row),
        count(static_cast<int>(std::min<int64_t>(kRows, end_row - first_row))) {
    const auto* data = reinterpret_cast<const uint8_t*>(weights.data) + first_row * row_bytes;
    for (int i = 0; i < kRows; ++i) rows[i] = data + std::min(i, count - 1) * row_bytes;
  }

  int64_t bytes() const { return kRows * row_bytes; }

  // y[first ..] = the results of the rows that exist.
  STRATA_INLINE void Store(const float* results, float* y) const {
    std::copy_n(results, count, y + first);
  }
};

// Dots::DotsOf<n>(group, xs, ys) computes the rows of a group for n = 1 or 2 vectors.
template <int kRows, typename Dots>
void RunRowGroups(const WeightMatrix& weights, RowRange rows, absl::Span<const ActivationView> xs,
                  absl::Span<float* const> ys) {
  for (int64_t r = rows.begin; r < rows.end; r += kRows) {
    const RowGroup<kRows> group(weights, r, rows.end);
    size_t v = 0;
    for (; v + 2 <= xs.size(); v += 2) Dots::template DotsOf<2>(group, &xs[v], &ys[v]);
    if (v < xs.size()) Dots::template DotsOf<1>(group, &xs[v], &ys[v]);
  }
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_ROW_GROUPS_H_
