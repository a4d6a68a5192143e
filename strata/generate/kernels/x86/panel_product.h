// The way of both panel kernels through a matrix. `Kernels` is a class of one instruction set:
//
//   Panel                               256 columns of 16 rows, in its order
//   Stage(type, rows, begin, num_columns, panel)
//   AddGroup(format, group, xs, sums)   sums[v] += the group of each vector
#ifndef STRATA_GENERATE_KERNELS_X86_PANEL_PRODUCT_H_
#define STRATA_GENERATE_KERNELS_X86_PANEL_PRODUCT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/integer_block.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/x86/prefetch.h"
#include "strata/generate/kernels/x86/row_groups.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata::x86 {

// A group of columns of the panel's rows.
template <typename Panel>
struct PanelGroup {
  const Panel& panel;
  bool has_mins;
  int64_t begin;  // The first column.
  int num_columns;
};

// Vectors that share a staged panel; their running sums stay in the first-level cache.
inline constexpr size_t kMaxPanelVectors = 128;

// At most kMaxPanelVectors vectors.
template <typename Kernels>
void MultiplyPanel(const IntegerFormat& format, const RowGroup<Kernels::Panel::kRows>& rows,
                   absl::Span<const ActivationView> xs, absl::Span<float* const> ys) {
  using Panel = typename Kernels::Panel;
  Panel panel;
  alignas(64) float sums[kMaxPanelVectors][Panel::kRows];
  std::fill_n(sums[0], xs.size() * Panel::kRows, 0.0f);
  GroupPrefetch prefetch(rows.rows[0], rows.bytes());
  const int64_t group_bytes = rows.bytes() * Panel::kColumns / rows.columns;
  for (int64_t begin = 0; begin < rows.columns; begin += Panel::kColumns) {
    const int num_columns =
        static_cast<int>(std::min<int64_t>(Panel::kColumns, rows.columns - begin));
    prefetch.Advance(group_bytes);
    Kernels::Stage(format.type, rows.rows, begin, num_columns, panel);
    Kernels::AddGroup(format, {panel, format.has_mins, begin, num_columns}, xs, sums);
  }
  for (size_t v = 0; v < xs.size(); ++v) rows.Store(sums[v], ys[v]);
}

template <typename Kernels>
void MultiplyByPanels(const WeightMatrix& weights, RowRange rows,
                      absl::Span<const ActivationView> xs, absl::Span<float* const> ys) {
  constexpr int kRows = Kernels::Panel::kRows;
  const IntegerFormat* format = FindIntegerFormat(weights.type);
  CHECK(format != nullptr) << InfoOf(weights.type).name;
  for (size_t v = 0; v < xs.size(); v += kMaxPanelVectors) {
    for (int64_t r = rows.begin; r < rows.end; r += kRows) {
      MultiplyPanel<Kernels>(*format, RowGroup<kRows>(weights, r, rows.end),
                             xs.subspan(v, kMaxPanelVectors), ys.subspan(v, kMaxPanelVectors));
    }
  }
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_PANEL_PRODUCT_H_
