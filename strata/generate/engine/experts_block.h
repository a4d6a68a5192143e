// The mixture of experts of a layer for a batch of tokens.
//
// Each token is routed; then the work is grouped by expert, so that an expert's weights are read
// once for all tokens that chose it. Gate and up of all experts, chosen and shared, are one loop
// over the threads, and down of all is another. Every (token, rank) has an output of its own, and a
// token adds up its outputs in the order of rank, so its result does not depend on the grouping.
//
// Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_ENGINE_EXPERTS_BLOCK_H_
#define STRATA_GENERATE_ENGINE_EXPERTS_BLOCK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/engine/activation_batch.h"
#include "strata/generate/engine/gated_products.h"
#include "strata/generate/engine/product_job.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class ExpertsBlock {
 public:
  explicit ExpertsBlock(ThreadPool& pool);

  absl::Status Run(const MixtureOfExperts& experts, ActivationBatch& x, Rows& out);

  // Of the last Run: the experts of token i, best first.
  absl::Span<const ExpertChoice> chosen(int64_t i) const {
    return absl::MakeConstSpan(chosen_).subspan(i * num_chosen_, num_chosen_);
  }
  // Of the last Run: bytes of the experts that were used, each counted once.
  int64_t bytes_read() const { return bytes_read_; }

 private:
  // An expert that was chosen, and the entries, token * num_chosen + rank, that go to it: places
  // [begin, end) of entries_.
  struct Group {
    int expert = 0;
    int64_t begin = 0;
    int64_t end = 0;
  };

  absl::Status Route(const MixtureOfExperts& experts, ActivationBatch& x);
  void GroupByExpert(const MixtureOfExperts& experts);
  absl::Span<const int64_t> EntriesOf(const Group& group) const;
  int64_t num_entries() const { return static_cast<int64_t>(chosen_.size()); }

  // gated_ = gate, up and activation: a result for each entry, then one of the shared expert for
  // each token.
  absl::Status RunGated(const MixtureOfExperts& experts, ActivationBatch& x);
  absl::Status RunDown(const MixtureOfExperts& experts, ActivationBatch& x);
  void AddUp(const MixtureOfExperts& experts, Rows& out);

  ThreadPool& pool_;
  ProductJob job_;
  GatedProducts gated_;
  std::vector<RouterScratch> scratch_of_worker_;
  int64_t num_chosen_ = 0;            // For each token.
  std::vector<ExpertChoice> chosen_;  // By entry.
  std::vector<int64_t> entries_;      // Grouped by expert, ascending in each group.
  std::vector<Group> groups_;
  std::vector<int64_t> group_ends_;  // By expert, while they are grouped.
  int64_t bytes_read_ = 0;
  Rows router_logits_;
  Rows down_;                  // By entry.
  Rows shared_, shared_gate_;  // By token.
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_EXPERTS_BLOCK_H_
