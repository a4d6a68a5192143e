// The gated delta net of a layer for a batch of rows (docs/design/delta-net.md).
//
// Rows of a sequence are taken one after the other by each piece of work, which is a block of
// columns of one head's memory; pieces do not know of each other. Used by one thread, which shares
// the work over the pool.
#ifndef STRATA_GENERATE_CPU_DELTA_NET_BLOCK_H_
#define STRATA_GENERATE_CPU_DELTA_NET_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class DeltaNetBlock {
 public:
  // `graph` holds the norms' epsilon.
  DeltaNetBlock(const ModelGraph& graph, ThreadPool& pool)
      : graph_(graph), pool_(pool), job_(pool), read_batch_(pool) {}

  // `layer` is its number in the recurrent states; x.row(i) is that of rows[i].
  absl::Status Run(const GatedDeltaNet& net, int layer, absl::Span<const CpuRow> rows,
                   ActivationBatch& x, Rows& out);

  int64_t workspace_bytes() const {
    return inputs_.bytes() + mixed_.bytes() + factors_.bytes() + read_.bytes() +
           read_batch_.bytes();
  }
  // For so many rows.
  static int64_t WorkspaceBytes(const GatedDeltaNet& net, int64_t num_rows);

 private:
  // One block of columns of one head, for the rows of one sequence.
  struct Piece {
    int head = 0;
    int64_t block = 0;
    size_t first_row = 0;
  };

  absl::Status Project(const GatedDeltaNet& net, ActivationBatch& x);
  // Convolution, norms of queries and keys, and factors of row i.
  void PrepareRow(const GatedDeltaNet& net, int64_t i);
  void RunPiece(const GatedDeltaNet& net, int layer, absl::Span<const CpuRow> rows,
                const Piece& piece);
  // Norm and output gate of row i.
  void FinishRow(const GatedDeltaNet& net, int64_t i);

  const ModelGraph& graph_;
  ThreadPool& pool_;
  ProductJob job_;
  std::vector<size_t> first_rows_;  // Of each sequence.
  Rows inputs_;                     // As GatedDeltaNet::inputs.
  Rows mixed_;                      // Queries, keys and values behind the convolution.
  Rows factors_;  // Of value heads: decays, then betas, then the products of query and key.
  Rows read_;     // What value heads read from their memory.
  ActivationBatch read_batch_;
};

// What a sequence keeps of a layer: the convolution's inputs, then the memory of each value head.
int64_t RecurrentValuesOf(const GatedDeltaNet& net);
// There are no keys.
inline KvShape KvShapeOf(const GatedDeltaNet& /*net*/) { return {}; }

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_DELTA_NET_BLOCK_H_
