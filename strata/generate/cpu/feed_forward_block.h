// The feed-forward part of a dense layer, which all tokens share.
// Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_FEED_FORWARD_BLOCK_H_
#define STRATA_GENERATE_CPU_FEED_FORWARD_BLOCK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/gated_products.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class FeedForwardBlock {
 public:
  explicit FeedForwardBlock(ThreadPool& pool) : gated_(pool), job_(pool) {}

  absl::Status Run(const FeedForward& feed_forward, ActivationBatch& x, Rows& out);
  int64_t workspace_bytes() const { return gated_.bytes(); }
  // For so many tokens.
  static int64_t WorkspaceBytes(const FeedForward& feed_forward, int64_t num_tokens);

 private:
  GatedProducts gated_;
  ProductJob job_;
};

// Makes `feed_forward` a part of `gated`, with result first_result + i from vector i of x.
absl::Status AddToGated(const FeedForward& feed_forward, ActivationBatch& x, int64_t first_result,
                        GatedProducts& gated);
// And its second half, from those results, a product of `job`: y.row(i) from vector i of x.
void AddDown(const FeedForward& feed_forward, const GatedProducts& gated, int64_t first_result,
             int64_t count, ProductJob& job, Rows& y);

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_FEED_FORWARD_BLOCK_H_
