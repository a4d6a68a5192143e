// The feed-forward part that all tokens share: a dense layer's, or a shared expert.
// Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_ENGINE_FEED_FORWARD_BLOCK_H_
#define STRATA_GENERATE_ENGINE_FEED_FORWARD_BLOCK_H_

#include "absl/status/status.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/engine/activation_batch.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class FeedForwardBlock {
 public:
  explicit FeedForwardBlock(ThreadPool& pool) : pool_(pool), inner_(pool) {}

  absl::Status Run(const FeedForward& feed_forward, ActivationBatch& x, Rows& out);

 private:
  ThreadPool& pool_;
  Rows gate_, up_;
  ActivationBatch inner_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_FEED_FORWARD_BLOCK_H_
