// The self-attention of a layer for a batch of tokens at consecutive positions: projections, norms
// of queries and keys, rotation, the KV cache, attention, output projection.
//
// Keys and values of the whole batch are stored before any token attends, so what a token sees does
// not depend on the batch that it came in. Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_ENGINE_SELF_ATTENTION_BLOCK_H_
#define STRATA_GENERATE_ENGINE_SELF_ATTENTION_BLOCK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/engine/activation_batch.h"
#include "strata/generate/engine/attention.h"
#include "strata/generate/engine/kv_cache.h"
#include "strata/generate/engine/product_job.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class SelfAttentionBlock {
 public:
  // `rotary` may be null: nothing rotates. `graph` holds the norms' epsilon and the pairing.
  SelfAttentionBlock(const ModelGraph& graph, const RotaryTable* rotary, KvCache& cache,
                     ThreadPool& pool);

  // `kv_layer` is the layer's place in the cache; x.row(i) is the token at first_position + i.
  absl::Status Run(const SelfAttention& attention, int kv_layer, int64_t first_position,
                   ActivationBatch& x, Rows& out);
  int64_t workspace_bytes() const {
    return queries_.bytes() + keys_.bytes() + values_.bytes() + attended_.bytes() +
           attended_batch_.bytes();
  }

 private:
  // Norm and rotation of all heads of one token.
  void PrepareHeads(const SelfAttention& attention, const std::vector<float>& norm, int head_size,
                    int64_t position, absl::Span<float> heads) const;
  absl::Status StoreKeysAndValues(const SelfAttention& attention, int kv_layer,
                                  int64_t first_position);
  void Attend(const SelfAttention& attention, int kv_layer, int64_t first_position);

  const ModelGraph& graph_;
  const RotaryTable* const rotary_;
  KvCache& cache_;
  ThreadPool& pool_;
  ProductJob job_;
  std::vector<Attention> attention_of_worker_;
  Rows queries_, keys_, values_, attended_;
  ActivationBatch attended_batch_;
};

KvShape KvShapeOf(const SelfAttention& attention);

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_SELF_ATTENTION_BLOCK_H_
