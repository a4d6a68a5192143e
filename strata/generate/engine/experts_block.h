// The mixture of experts of a layer for a batch of tokens.
//
// Each token is routed; then the work is grouped by expert, so that an expert's weights are read
// once for all tokens that chose it. Every (token, rank) has an output of its own, and a token adds
// up its outputs in the order of rank, so its result does not depend on the grouping.
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
#include "strata/generate/engine/feed_forward_block.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class ExpertsBlock {
 public:
  explicit ExpertsBlock(ThreadPool& pool);

  absl::Status Run(const MixtureOfExperts& experts, ActivationBatch& x, Rows& out);

  // Of the last Run: the experts of token i, best first.
  absl::Span<const ExpertChoice> chosen(int64_t i) const { return chosen_[i]; }
  // Of the last Run: bytes of the experts that were used, each counted once.
  int64_t bytes_read() const { return bytes_read_; }

 private:
  // The entries, token * num_chosen + rank, that go to one expert; ascending.
  struct Group {
    int expert = 0;
    std::vector<int64_t> entries;
  };

  absl::Status Route(const MixtureOfExperts& experts, ActivationBatch& x);
  void GroupByExpert(const MixtureOfExperts& experts);
  // y.row(entry) = the entry's expert of the view that `view_of` gives for the entry.
  template <typename ViewOf>
  absl::Status ApplyExperts(const ExpertLinears& linears, ViewOf view_of, Rows& y);
  absl::Status RunRouted(const MixtureOfExperts& experts, ActivationBatch& x);
  absl::Status RunShared(const MixtureOfExperts& experts, ActivationBatch& x);
  void AddUp(const MixtureOfExperts& experts, Rows& out);

  ThreadPool& pool_;
  std::vector<std::vector<ExpertChoice>> chosen_;  // By token.
  std::vector<Group> groups_;
  int64_t num_entries_ = 0;
  int64_t bytes_read_ = 0;
  Rows router_logits_;
  Rows gate_, up_, down_;  // By entry.
  ActivationBatch inner_;
  FeedForwardBlock shared_block_;
  Rows shared_, shared_gate_;  // By token.
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_EXPERTS_BLOCK_H_
