// The self-attention of a layer for a batch of rows: projections, norms of queries and keys,
// rotation, the KV pool, the choice of what is seen, attention, output projection.
//
// Keys and values of the whole batch are stored before any row attends, so what a row sees does not
// depend on the batch that it came in. Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_SELF_ATTENTION_BLOCK_H_
#define STRATA_GENERATE_CPU_SELF_ATTENTION_BLOCK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/attention.h"
#include "strata/generate/cpu/block_selector.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class SelfAttentionBlock {
 public:
  // `graph` holds the norms' epsilon and the rotations, of which `rotary` has the tables.
  SelfAttentionBlock(const ModelGraph& graph, const std::vector<RotaryTable>& rotary,
                     ThreadPool& pool);

  // `layer` is its number in the KV pool; x.row(i) is that of rows[i].
  absl::Status Run(const SelfAttention& attention, int layer, absl::Span<const CpuRow> rows,
                   ActivationBatch& x, Rows& out);

  int64_t workspace_bytes() const {
    return queries_.bytes() + gated_queries_.bytes() + keys_.bytes() + values_.bytes() +
           attended_.bytes() + attended_batch_.bytes() + selector_.workspace_bytes();
  }
  // Of the last Run, which had an indexer.
  const BlockSelector& selector() const { return selector_; }
  // For so many rows.
  static int64_t WorkspaceBytes(const SelfAttention& attention, int64_t num_rows);

 private:
  // queries_ = the queries of gated_queries_.
  void SplitGates(const SelfAttention& attention);
  // values_.row(i): from the key, where values are keys; its norms.
  void PrepareValues(const SelfAttention& attention, int64_t i);
  // Norm and rotation of all heads of one row.
  void PrepareHeads(const SelfAttention& attention, const std::vector<float>& norm, int head_size,
                    int64_t position, absl::Span<float> heads) const;
  absl::Status StoreKeysAndValues(const SelfAttention& attention, int layer,
                                  absl::Span<const CpuRow> rows);
  absl::Status SelectBlocks(const SelfAttention& attention, int layer,
                            absl::Span<const CpuRow> rows);
  // Of the heads that share a key and value head, from this one on, in row i.
  void OpenGates(const SelfAttention& attention, int first_head, int64_t i);
  void Attend(const SelfAttention& attention, int layer, absl::Span<const CpuRow> rows);

  const ModelGraph& graph_;
  const std::vector<RotaryTable>& rotary_;
  ThreadPool& pool_;
  ProductJob job_;
  BlockSelector selector_;
  std::vector<Attention> attention_of_worker_;
  Rows queries_, keys_, values_, attended_;
  Rows gated_queries_;  // Of each head its query, then its gate; unused without gates.
  ActivationBatch attended_batch_;
};

KvShape KvShapeOf(const SelfAttention& attention);
// It keeps nothing else.
inline int64_t RecurrentValuesOf(const SelfAttention& /*attention*/) { return 0; }

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_SELF_ATTENTION_BLOCK_H_
