// The latent attention of a layer for a batch of rows (LatentAttention in model_graph.h): queries
// are taken to the compressed rows by the key matrices, all heads attend over the same rows, and
// the value matrices take the result back. So the KV pool holds one row per token, of
// compressed_size + rotated_size values.
//
// Rows of the whole batch are stored before any row attends, so what a row sees does not depend on
// the batch that it came in. Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_LATENT_ATTENTION_BLOCK_H_
#define STRATA_GENERATE_CPU_LATENT_ATTENTION_BLOCK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/attention.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class LatentAttentionBlock {
 public:
  // `graph` holds the norms' epsilon and the rotations, of which `rotary` has the tables.
  LatentAttentionBlock(const ModelGraph& graph, const std::vector<RotaryTable>& rotary,
                       ThreadPool& pool);

  // `layer` is its number in the KV pool; x.row(i) is that of rows[i].
  absl::Status Run(const LatentAttention& attention, int layer, absl::Span<const CpuRow> rows,
                   ActivationBatch& x, Rows& out);

  int64_t workspace_bytes() const;
  // For so many rows.
  static int64_t WorkspaceBytes(const LatentAttention& attention, int64_t num_rows);

 private:
  // queries_ and kept_ = what x gives, before norms of kept rows and rotation.
  absl::Status Project(const LatentAttention& attention, ActivationBatch& x);
  absl::Status Store(const LatentAttention& attention, int layer, absl::Span<const CpuRow> rows);
  void RotateTail(const LatentAttention& attention, int64_t position, absl::Span<float> head) const;
  // meeting_ = each head's query as it meets kept rows.
  absl::Status MeetKeptRows(const LatentAttention& attention, absl::Span<const CpuRow> rows);
  void SumKeyRows(const LatentAttention& attention);
  void Attend(const LatentAttention& attention, int layer, absl::Span<const CpuRow> rows);
  // A product for each head: to row i, at head * to_size, from row i * num_heads + head of `from`.
  absl::Status MultiplyHeads(const HeadLinears& linears, int num_heads, ActivationBatch& from,
                             int to_size, Rows& to);

  const ModelGraph& graph_;
  const std::vector<RotaryTable>& rotary_;
  ThreadPool& pool_;
  ProductJob job_;
  std::vector<Attention> attention_of_worker_;
  std::vector<std::vector<float>> key_of_worker_;  // A head's key matrix as f32.
  Rows compressed_queries_, queries_, kept_;
  // A row for each row and head.
  Rows plain_, attended_;
  // A row for each row: its heads one after the other.
  Rows meeting_, values_;
  ActivationBatch query_batch_, plain_batch_, attended_batch_, values_batch_;
};

KvShape KvShapeOf(const LatentAttention& attention);
// It keeps nothing else.
inline int64_t RecurrentValuesOf(const LatentAttention& /*attention*/) { return 0; }

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_LATENT_ATTENTION_BLOCK_H_
