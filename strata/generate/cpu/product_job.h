// Products of weights with batches, side by side as one loop that the threads of a pool share by
// rows of the weights. The bits of a result depend on its row and its vector alone.
//
// Keeps its memory from job to job, so that a step allocates nothing once the first has run. Used
// by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_PRODUCT_JOB_H_
#define STRATA_GENERATE_CPU_PRODUCT_JOB_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {

class ProductJob {
 public:
  // y = scale * (weights x) + bias; an empty bias is none.
  struct Matrix {
    absl::string_view name;  // Of the tensor, for messages.
    WeightMatrix weights;
    float scale = 1.0f;
    absl::Span<const float> bias = {};
  };
  // Rows of a matrix, numbered as they were added, have their final values for all its vectors.
  // Called on the thread that computed them.
  using RowsDone = absl::FunctionRef<void(int matrix, RowRange rows)>;

  explicit ProductJob(ThreadPool& pool) : pool_(pool) {}

  // Begins a new job.
  void Clear();
  // What the matrix borrows must last until Run returns, as must vectors and results.
  void AddMatrix(const Matrix& matrix);
  // The matrix added last meets x; y holds a value for each of its rows.
  void AddVector(const ActivationView& x, absl::Span<float> y);
  // All of x meet `linear`: y.row(i) = linear of x.row(i).
  absl::Status AddLinear(const Linear& linear, ActivationBatch& x, Rows& y);

  // Kind "nan_logits" without a file, naming the first matrix with a result that is NaN or
  // infinite.
  absl::Status Run();
  absl::Status Run(RowsDone rows_done);

 private:
  struct Product {
    Matrix matrix;
    int64_t first_vector = 0;
    int64_t num_vectors = 0;
    int64_t end_item = 0;  // Items are numbered through all products.
  };

  void RunItems(int64_t begin, int64_t end, RowsDone rows_done);
  void RunRows(int index, RowRange rows);

  ThreadPool& pool_;
  std::vector<Product> products_;
  // Of all products.
  std::vector<ActivationView> xs_;
  std::vector<float*> ys_;
  std::atomic<int> first_not_finite_{0};
};

ProductJob::Matrix MatrixOf(const Linear& linear);

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_PRODUCT_JOB_H_
