#include "strata/generate/engine/linear_product.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/engine/activation_batch.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/kernels/numerics.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

// What a thread takes at once: enough weights to be worth the taking, few enough that the last
// piece is short.
constexpr int64_t kRowsPerItem = 16;

int64_t NumItems(const MatrixProduct& product) {
  return (product.weights.rows + kRowsPerItem - 1) / kRowsPerItem;
}

}  // namespace

bool RunProducts(absl::Span<const MatrixProduct> products, ThreadPool& pool) {
  // Items are numbered through all products; ends[p] is where those of product p end.
  std::vector<int64_t> ends;
  int64_t num_items = 0;
  for (const MatrixProduct& product : products) ends.push_back(num_items += NumItems(product));
  std::atomic<bool> is_finite = true;
  pool.ParallelFor(num_items, /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t item = piece.begin; item < piece.end; ++item) {
      const size_t p = std::upper_bound(ends.begin(), ends.end(), item) - ends.begin();
      const MatrixProduct& product = products[p];
      const int64_t begin = (item - (ends[p] - NumItems(product))) * kRowsPerItem;
      const RowRange rows = {begin, std::min(begin + kRowsPerItem, product.weights.rows)};
      if (!MatMul(product.weights, rows, product.xs, product.ys)) is_finite = false;
    }
  });
  return is_finite;
}

void ScaleAndAddBias(float scale, absl::Span<const float> bias, absl::Span<float> y) {
  if (scale != 1.0f) {
    for (float& value : y) value = f32::Mul(value, scale);
  }
  for (size_t i = 0; i < bias.size(); ++i) y[i] = f32::Add(y[i], bias[i]);
}

absl::Status ApplyLinear(const Linear& linear, ActivationBatch& x, ThreadPool& pool, Rows& y) {
  y.Resize(x.count(), linear.weights.rows);
  const absl::Span<const ActivationView> views = x.For(linear.weights.type);
  if (views.empty()) return NotFiniteError(absl::StrCat("the input of ", linear.name));
  MatrixProduct product = {.weights = linear.weights, .xs = {views.begin(), views.end()}};
  for (int64_t i = 0; i < y.count(); ++i) product.ys.push_back(y.row(i).data());
  if (!RunProducts(absl::MakeConstSpan(&product, 1), pool)) {
    return NotFiniteError(absl::StrCat("the product of ", linear.name));
  }
  for (int64_t i = 0; i < y.count(); ++i) ScaleAndAddBias(linear.scale, linear.bias, y.row(i));
  return absl::OkStatus();
}

}  // namespace strata
