// Products of weights with a batch, shared among the threads of a pool by rows of the weights. The
// bits of a result depend on its row and its vector alone.
#ifndef STRATA_GENERATE_ENGINE_LINEAR_PRODUCT_H_
#define STRATA_GENERATE_ENGINE_LINEAR_PRODUCT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/engine/activation_batch.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// ys[v][r] = row r . xs[v].
struct MatrixProduct {
  WeightMatrix weights;
  std::vector<ActivationView> xs;
  std::vector<float*> ys;
};

// All of them side by side. False when a result is NaN or infinite.
[[nodiscard]] bool RunProducts(absl::Span<const MatrixProduct> products, ThreadPool& pool);

// y = scale * y + bias; an empty bias is none. `y` is a finished row of a product.
void ScaleAndAddBias(float scale, absl::Span<const float> bias, absl::Span<float> y);

// y.row(i) = linear of x.row(i). Kind "nan_logits" without a file, naming the tensor.
absl::Status ApplyLinear(const Linear& linear, ActivationBatch& x, ThreadPool& pool, Rows& y);

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_LINEAR_PRODUCT_H_
