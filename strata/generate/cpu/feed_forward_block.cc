#include "strata/generate/cpu/feed_forward_block.h"

#include <cstdint>

#include "absl/status/status.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/gated_products.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

absl::Status AddToGated(const FeedForward& feed_forward, ActivationBatch& x, int64_t first_result,
                        GatedProducts& gated) {
  const Linear& gate = feed_forward.gate;
  const Linear& up = feed_forward.up;
  ASSIGN_OR_RETURN(const auto gate_xs, x.ViewsFor(gate.weights.type, gate.name));
  ASSIGN_OR_RETURN(const auto up_xs, x.ViewsFor(up.weights.type, up.name));
  gated.AddPart({.activation = feed_forward.activation,
                 .gate = MatrixOf(gate),
                 .up = MatrixOf(up),
                 .down_type = feed_forward.down.weights.type,
                 .down_name = feed_forward.down.name});
  for (int64_t i = 0; i < x.count(); ++i) gated.AddResult(first_result + i, gate_xs[i], up_xs[i]);
  return absl::OkStatus();
}

void AddDown(const FeedForward& feed_forward, const GatedProducts& gated, int64_t first_result,
             int64_t count, ProductJob& job, Rows& y) {
  y.Resize(count, feed_forward.down.weights.rows);
  job.AddMatrix(MatrixOf(feed_forward.down));
  for (int64_t i = 0; i < count; ++i) job.AddVector(gated.result(first_result + i), y.row(i));
}

absl::Status FeedForwardBlock::Run(const FeedForward& feed_forward, ActivationBatch& x, Rows& out) {
  gated_.Start(x.count(), feed_forward.gate.weights.rows);
  RETURN_IF_ERROR(AddToGated(feed_forward, x, /*first_result=*/0, gated_));
  RETURN_IF_ERROR(gated_.Run());
  job_.Clear();
  AddDown(feed_forward, gated_, /*first_result=*/0, x.count(), job_, out);
  return job_.Run();
}

int64_t FeedForwardBlock::WorkspaceBytes(const FeedForward& feed_forward, int64_t num_tokens) {
  const int64_t width = feed_forward.gate.weights.rows;
  return GatedProducts::ProductBytes(num_tokens, width) +
         GatedProducts::ResultBytes(feed_forward.down.weights.type, num_tokens, width);
}

}  // namespace strata
