#include "strata/generate/engine/feed_forward_block.h"

#include <cstdint>

#include "absl/status/status.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/engine/activation_batch.h"
#include "strata/generate/engine/linear_product.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

absl::Status FeedForwardBlock::Run(const FeedForward& feed_forward, ActivationBatch& x, Rows& out) {
  RETURN_IF_ERROR(ApplyLinear(feed_forward.gate, x, pool_, gate_));
  RETURN_IF_ERROR(ApplyLinear(feed_forward.up, x, pool_, up_));
  pool_.ParallelFor(x.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      ApplyGate(feed_forward.activation, gate_.row(i), up_.row(i), gate_.row(i));
    }
  });
  inner_.Assign(gate_);
  return ApplyLinear(feed_forward.down, inner_, pool_, out);
}

}  // namespace strata
