// Adds to the state of a batch of rows what the last few tokens of each say together
// (NgramEmbedding in model_graph.h has the arithmetic).
//
// The table is far larger than memory may be. Which rows a step needs is known from its tokens
// alone, so they are asked for at its beginning and have been read when their layer comes; no other
// row is touched, and nothing of the table is copied but to be decoded.
//
//   block.Fetch(ngrams, part, rows);    // at the beginning of the step
//   block.Run(ngrams, part, rows, x);   // the same rows
//
// Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_NGRAM_BLOCK_H_
#define STRATA_GENERATE_CPU_NGRAM_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/convolution_window.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class NgramBlock {
 public:
  // `graph` holds the streams and the norms' epsilon. Tells the system that its table, if it has
  // one, is read here and there.
  NgramBlock(const ModelGraph& graph, ThreadPool& pool);

  // `part` is the number of the state in the recurrent states.
  void Fetch(const NgramEmbedding& ngrams, int part, absl::Span<const CpuRow> rows);
  absl::Status Run(const NgramEmbedding& ngrams, int part, absl::Span<const CpuRow> rows, Rows& x);

  // Of the table, since the block was made: one for each row of a step and head.
  int64_t num_rows_read() const { return num_rows_read_; }

  int64_t workspace_bytes() const {
    return embedded_.bytes() + keys_.bytes() + values_.bytes() + added_.bytes() + inputs_.bytes() +
           mixed_.bytes() + embedded_batch_.bytes();
  }
  // For so many rows.
  static int64_t WorkspaceBytes(const ModelGraph& graph, int64_t num_rows);

 private:
  // The token so many places before that of row i; the end token before the text.
  int32_t TokenBefore(const NgramEmbedding& ngrams, int part, absl::Span<const CpuRow> rows,
                      size_t i, int64_t places) const;
  void Embed(const NgramEmbedding& ngrams);
  // Of row i: added_ = what each stream gets at once, inputs_ = what goes through the convolution.
  void Weigh(const NgramEmbedding& ngrams, int64_t i, absl::Span<const float> x);
  // Keeps the state after row i where it is kept.
  void Store(const NgramEmbedding& ngrams, int part, absl::Span<const CpuRow> rows, size_t i,
             const ConvolutionWindow& window) const;

  const ModelGraph& graph_;
  ThreadPool& pool_;
  ProductJob job_;
  int64_t num_rows_read_ = 0;
  std::vector<int64_t> table_rows_;  // Of each row of the step, one for each head.
  Rows embedded_;                    // E of each row.
  Rows keys_, values_, added_, inputs_, mixed_;
  ActivationBatch embedded_batch_;
};

// What a sequence keeps: the convolution's inputs, then its last num_tokens - 1 tokens, the oldest
// first, each as the bits of a value.
int64_t RecurrentValuesOf(const NgramEmbedding& ngrams);

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_NGRAM_BLOCK_H_
