// What parts see of several streams, and how their results go back into them (StreamMixer in
// model_graph.h has the arithmetic).
// Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_STREAM_MIXER_BLOCK_H_
#define STRATA_GENERATE_CPU_STREAM_MIXER_BLOCK_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class StreamMixerBlock {
 public:
  // `graph` holds the number of streams, their width and the norms' epsilon.
  StreamMixerBlock(const ModelGraph& graph, ThreadPool& pool)
      : graph_(graph), pool_(pool), job_(pool), normed_batch_(pool), low_batch_(pool) {}

  // out.row(i) = what a part sees of the streams state(i), for `count` rows.
  using StateOf = absl::FunctionRef<absl::Span<const float>(int64_t i)>;
  absl::Status Mix(const StreamMixer& mixer, int64_t count, StateOf state, Rows& out);
  // Each stream of state.row(i) takes its part of results.row(i), as the last Mix says.
  void AddResults(const Rows& results, Rows& state);

  int64_t workspace_bytes() const {
    return normed_.bytes() + low_.bytes() + gates_.bytes() + shares_.bytes() +
           normed_batch_.bytes() + low_batch_.bytes();
  }
  // For so many rows of models that have streams, all of their mixers together.
  static int64_t WorkspaceBytes(const ModelGraph& graph, int64_t num_rows);

 private:
  absl::Span<const float> StreamOf(absl::Span<const float> state, int64_t stream) const {
    return state.subspan(stream * graph_.width, graph_.width);
  }

  const ModelGraph& graph_;
  ThreadPool& pool_;
  ProductJob job_;
  Rows normed_;  // All streams of a row.
  Rows low_;     // Behind `down`.
  Rows gates_;   // Behind `up`; then what of each stream is seen.
  Rows shares_;  // Of each stream, of the result.
  ActivationBatch normed_batch_, low_batch_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_STREAM_MIXER_BLOCK_H_
