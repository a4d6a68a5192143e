#include "strata/generate/cpu/product_job.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/weight_matrix.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

// Rows that go to a thread together: as many as the widest kernel takes at once, and whole cache
// lines of results, so that no two threads write to one line.
constexpr int64_t kRowsPerItem = Rows::kValuesPerLine;

// What is worth the taking: a few microseconds of work where a product has one vector.
constexpr int64_t kLeastPieceBytes = 16 << 10;

int64_t NumItems(const WeightMatrix& weights) {
  return (weights.rows + kRowsPerItem - 1) / kRowsPerItem;
}

void ScaleAndAddBias(float scale, absl::Span<const float> bias, absl::Span<float> y) {
  if (scale != 1.0f) {
    for (float& value : y) value = f32::Mul(value, scale);
  }
  for (size_t i = 0; i < bias.size(); ++i) y[i] = f32::Add(y[i], bias[i]);
}

}  // namespace

void ProductJob::Clear() {
  products_.clear();
  xs_.clear();
  ys_.clear();
}

void ProductJob::AddMatrix(const Matrix& matrix) {
  const int64_t first_item = products_.empty() ? 0 : products_.back().end_item;
  products_.push_back({.matrix = matrix,
                       .first_vector = static_cast<int64_t>(xs_.size()),
                       .end_item = first_item + NumItems(matrix.weights)});
}

void ProductJob::AddVector(const ActivationView& x, absl::Span<float> y) {
  Product& product = products_.back();
  CHECK_EQ(static_cast<int64_t>(y.size()), product.matrix.weights.rows);
  ++product.num_vectors;
  xs_.push_back(x);
  ys_.push_back(y.data());
}

absl::Status ProductJob::AddLinear(const Linear& linear, ActivationBatch& x, Rows& y) {
  ASSIGN_OR_RETURN(const absl::Span<const ActivationView> views,
                   x.ViewsFor(linear.weights.type, linear.name));
  y.Resize(x.count(), linear.weights.rows);
  AddMatrix(MatrixOf(linear));
  for (int64_t i = 0; i < y.count(); ++i) AddVector(views[i], y.row(i));
  return absl::OkStatus();
}

absl::Status ProductJob::Run() {
  return Run([](int /*matrix*/, RowRange /*rows*/) {});
}

absl::Status ProductJob::Run(RowsDone rows_done) {
  const int num_products = static_cast<int>(products_.size());
  first_not_finite_ = num_products;
  const int64_t num_items = products_.empty() ? 0 : products_.back().end_item;
  int64_t bytes = 0;
  for (const Product& product : products_) {
    bytes += product.matrix.weights.rows * product.matrix.weights.row_bytes();
  }
  const int64_t grain = bytes > 0 ? 1 + num_items * kLeastPieceBytes / bytes : 1;
  pool_.ParallelFor(num_items, grain, [&](const ThreadPool::Piece& piece) {
    RunItems(piece.begin, piece.end, rows_done);
  });
  const int failed = first_not_finite_;
  if (failed == num_products) return absl::OkStatus();
  return NotFiniteError(absl::StrCat("the product of ", products_[failed].matrix.name));
}

void ProductJob::RunItems(int64_t begin, int64_t end, RowsDone rows_done) {
  const auto first = std::upper_bound(
      products_.begin(), products_.end(), begin,
      [](int64_t item, const Product& product) { return item < product.end_item; });
  for (auto index = first - products_.begin(); begin < end; ++index) {
    const Product& product = products_[index];
    const int64_t num_rows = product.matrix.weights.rows;
    const int64_t first_item = product.end_item - NumItems(product.matrix.weights);
    const int64_t stop = std::min(end, product.end_item);
    const RowRange rows = {(begin - first_item) * kRowsPerItem,
                           std::min((stop - first_item) * kRowsPerItem, num_rows)};
    RunRows(static_cast<int>(index), rows);
    rows_done(static_cast<int>(index), rows);
    begin = stop;
  }
}

void ProductJob::RunRows(int index, RowRange rows) {
  const Product& product = products_[index];
  const Matrix& matrix = product.matrix;
  const auto xs = absl::MakeConstSpan(xs_).subspan(product.first_vector, product.num_vectors);
  const auto ys = absl::MakeConstSpan(ys_).subspan(product.first_vector, product.num_vectors);
  if (!MatMul(matrix.weights, rows, xs, ys)) {
    int first = first_not_finite_;
    while (index < first && !first_not_finite_.compare_exchange_weak(first, index)) {
    }
  }
  if (matrix.scale == 1.0f && matrix.bias.empty()) return;
  const auto count = static_cast<size_t>(rows.end - rows.begin);
  for (float* const y : ys) {
    ScaleAndAddBias(matrix.scale,
                    matrix.bias.empty() ? matrix.bias : matrix.bias.subspan(rows.begin, count),
                    absl::MakeSpan(y + rows.begin, count));
  }
}

ProductJob::Matrix MatrixOf(const Linear& linear) {
  return {
      .name = linear.name, .weights = linear.weights, .scale = linear.scale, .bias = linear.bias};
}

}  // namespace strata
