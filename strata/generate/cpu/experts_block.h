// The mixture of experts of a layer for a batch of tokens.
//
// Each token is routed; then the work is grouped by expert, so that an expert's weights are read
// once for all tokens that chose it. Gate and up of all experts that are there at once, chosen and
// shared, are one loop over the threads, and down of all is another. Every (token, rank) has an
// output of its own, and a token adds up its outputs in the order of rank, so its result depends
// neither on the grouping nor on where experts are.
//
// Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_EXPERTS_BLOCK_H_
#define STRATA_GENERATE_CPU_EXPERTS_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/cpu/gated_products.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class ExpertsBlock {
 public:
  ExpertsBlock(float norm_epsilon, ThreadPool& pool);

  // `layer` is its number in the model, for `weights`. Where the parts have norms of their own
  // (ExpertNorms), x is the state as it is.
  absl::Status Run(int layer, const MixtureOfExperts& experts, ExpertWeights& weights,
                   ActivationBatch& x, Rows& out);

  // Works in this memory where it suffices, until it is told otherwise; none to begin with.
  void UseMemory(absl::Span<std::byte> memory) { down_.UseMemory(memory); }

  // Of the last Run: the experts of each token in turn, best first.
  absl::Span<const ExpertChoice> chosen() const { return chosen_; }
  // Of the last Run: bytes of the experts that were used, each counted once.
  int64_t bytes_read() const { return bytes_read_; }
  // Of the memory that it works in, as for all blocks.
  int64_t workspace_bytes() const {
    return gated_.bytes() + router_logits_.bytes() + down_.bytes() + shared_.bytes() +
           shared_gate_.bytes() + normed_bytes();
  }
  // For so many tokens.
  static int64_t WorkspaceBytes(const MixtureOfExperts& experts, int64_t num_tokens);

 private:
  using Locations = absl::Span<const ExpertWeights::Location>;
  // What a part of the mixture sees, where it has a norm of its own.
  struct NormedInput {
    explicit NormedInput(ThreadPool& pool) : batch(pool) {}
    int64_t bytes() const { return rows.bytes() + batch.bytes(); }

    Rows rows;
    ActivationBatch batch;
  };
  struct Inputs {
    ActivationBatch& router;
    ActivationBatch& routed;
    ActivationBatch& shared;
  };

  Inputs InputsOf(const MixtureOfExperts& experts, ActivationBatch& x);
  ActivationBatch& Norm(const std::vector<float>& weight, const Rows& x, NormedInput& normed);
  int64_t normed_bytes() const {
    return router_input_.bytes() + routed_input_.bytes() + shared_input_.bytes();
  }
  absl::Status Route(const MixtureOfExperts& experts, ActivationBatch& x);
  void GroupByExpert(const MixtureOfExperts& experts);
  // The entries, token * num_chosen + rank, that go to an expert, ascending.
  absl::Span<const int64_t> EntriesOf(int expert) const;
  int64_t num_entries() const { return static_cast<int64_t>(chosen_.size()); }

  // gated_ = gate, up and activation: a result for each entry of the experts and, with the shared
  // expert, one of it for each token.
  absl::Status RunGated(const MixtureOfExperts& experts, Locations locations, bool with_shared,
                        const Inputs& inputs);
  absl::Status RunDown(const MixtureOfExperts& experts, Locations locations, bool with_shared,
                       ActivationBatch& shared_x);
  void AddUp(const MixtureOfExperts& experts, Rows& out);

  const float norm_epsilon_;
  ThreadPool& pool_;
  NormedInput router_input_, routed_input_, shared_input_;
  ProductJob job_;
  GatedProducts gated_;
  std::vector<RouterScratch> scratch_of_worker_;
  int64_t num_chosen_ = 0;            // For each token.
  std::vector<ExpertChoice> chosen_;  // By entry.
  std::vector<int64_t> entries_;      // Grouped by expert.
  std::vector<int64_t> group_ends_;   // Of each expert's group in entries_.
  std::vector<int> used_;             // Experts with entries, ascending.
  int64_t bytes_read_ = 0;
  Rows router_logits_;
  Rows down_;                  // By entry.
  Rows shared_, shared_gate_;  // By token.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_EXPERTS_BLOCK_H_
