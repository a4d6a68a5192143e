// Chooses the blocks of keys that the rows of a batch attend to in a layer (BlockIndexer in
// model_graph.h has the arithmetic).
//
//   selector.AddProducts(indexer, x, job);      // and the caller runs the job
//   selector.Store(...);                        // what the batch adds to the index
//   selector.Select(...);
//   ... selector.Of(i) ...
//
// Index rows of the whole batch are stored before any row selects, and the row of a block is made
// of rows as they are stored, so what a token selects does not depend on the batch that it came in.
// Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_BLOCK_SELECTOR_H_
#define STRATA_GENERATE_CPU_BLOCK_SELECTOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/attention.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/rotary_options.h"

namespace strata {

class BlockSelector {
 public:
  // How queries and the keys of blocks turn.
  struct Turn {
    RotaryPairing pairing = RotaryPairing::kNeox;
    const RotaryTable* table = nullptr;  // Null: they do not.
  };

  BlockSelector(float norm_epsilon, ThreadPool& pool)
      : norm_epsilon_(norm_epsilon), pool_(pool), scratch_of_worker_(pool.num_threads()) {}

  absl::Status AddProducts(const BlockIndexer& indexer, ActivationBatch& x, ProductJob& job);
  // Kind nan_logits without a file when a row cannot be stored. `layer` is its number in the KV
  // pool.
  absl::Status Store(const BlockIndexer& indexer, const Turn& turn, int layer,
                     absl::Span<const CpuRow> rows);
  void Select(const BlockIndexer& indexer, int layer, absl::Span<const CpuRow> rows);

  // Of row i; none: it sees all positions up to its own. Good until the next Select.
  std::optional<BlockSelection> Of(int64_t i) const;

  int64_t workspace_bytes() const {
    return queries_.bytes() + keys_.bytes() +
           static_cast<int64_t>(kept_.capacity() * sizeof(int32_t) +
                                selected_.capacity() * sizeof(Selected));
  }
  // For so many rows.
  static int64_t WorkspaceBytes(const BlockIndexer& indexer, int64_t num_rows);

 private:
  struct Scratch {
    std::vector<float> rows, scores, head_scores;
    std::vector<int32_t> order;
  };
  // Of a row.
  struct Selected {
    bool all = true;
    int64_t tail = 0;
  };

  bool StoreBlock(const BlockIndexer& indexer, const Turn& turn, int layer, const CpuRow& row,
                  Scratch& scratch) const;
  // scores[b] = that of block b, for those of some tiles.
  void Score(const BlockIndexer& indexer, int layer, const CpuRow& row,
             absl::Span<const float> query, int64_t first_tile, int64_t end_tile,
             absl::Span<float> scores, Scratch& scratch) const;
  // kept_ of row i = the best of scores.
  void Keep(const BlockIndexer& indexer, int64_t i, absl::Span<const float> scores,
            Scratch& scratch);

  const float norm_epsilon_;
  ThreadPool& pool_;
  std::vector<Scratch> scratch_of_worker_;
  Rows queries_, keys_;
  std::vector<float> scores_;  // Of a row whose blocks are shared over the pool.
  int block_size_ = 1;
  int num_kept_ = 0;
  std::vector<int32_t> kept_;  // num_kept_ blocks of each row.
  std::vector<Selected> selected_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_BLOCK_SELECTOR_H_
