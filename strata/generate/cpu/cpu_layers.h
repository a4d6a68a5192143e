// The operations of a model on the CPU (model/layer_ops.h): each computes when it is called, over
// the threads of a pool.
//
//   layers.Begin({.rows = rows, ...});
//   absl::Status status = RunLayers(graph, layers);
//
// Keeps its memory from step to step. Used by one thread; what it is made with outlives it.
#ifndef STRATA_GENERATE_CPU_CPU_LAYERS_H_
#define STRATA_GENERATE_CPU_CPU_LAYERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/delta_net_block.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/cpu/experts_block.h"
#include "strata/generate/cpu/feed_forward_block.h"
#include "strata/generate/cpu/latent_attention_block.h"
#include "strata/generate/cpu/ngram_block.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/cpu/self_attention_block.h"
#include "strata/generate/cpu/short_convolution_block.h"
#include "strata/generate/cpu/step_observer.h"
#include "strata/generate/cpu/stream_mixer_block.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/layer_ops.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class CpuLayers : public LayerOps {
 public:
  struct Step {
    absl::Span<const CpuRow> rows;
    bool wants_hidden = false;
    const std::function<bool()>* should_stop = nullptr;  // May be null.
  };

  CpuLayers(const ModelGraph& graph, ThreadPool& pool, ExpertWeights& experts);

  // What the operations work on until the next Begin.
  void Begin(const Step& step);

  absl::Status Embed(const ModelGraph& graph) override;
  absl::Status AddNgrams(const NgramEmbedding& ngrams) override;
  absl::Status Mix(int layer, const Residual& residual, const SelfAttention& attention) override;
  absl::Status Mix(int layer, const Residual& residual, const LatentAttention& attention) override;
  absl::Status Mix(int layer, const Residual& residual, const GatedDeltaNet& net) override;
  absl::Status Mix(int layer, const Residual& residual,
                   const ShortConvolution& convolution) override;
  absl::Status Feed(int layer, const Residual& residual, const FeedForward& dense) override;
  absl::Status Feed(int layer, const Residual& residual, const MixtureOfExperts& experts) override;
  absl::Status EndLayer(int layer) override;
  absl::Status Output(const ModelGraph& graph) override;

  // Of the rows that want output, in their order, and of all: good after Output.
  const Rows& logits() const { return logits_; }
  const Rows& hidden() const { return hidden_; }
  // Of the layers so far.
  const StepRouting& routing() const { return routing_; }
  // Read for experts since the layers were made: an expert once in a step and layer.
  int64_t expert_bytes() const { return expert_bytes_; }
  // Looked up in a table of n-grams, since the layers were made.
  int64_t table_rows() const { return ngram_block_.num_rows_read(); }

  // May be null; outlives its use.
  void set_observer(StepObserver* observer) { observer_ = observer; }
  // For experts: see ExpertsBlock.
  void UseMemory(absl::Span<std::byte> memory) { experts_block_.UseMemory(memory); }

  // As much as the largest step so far needed.
  int64_t workspace_bytes() const;
  // For steps of so many rows, one of which wants output.
  static int64_t WorkspaceBytes(const ModelGraph& graph, int64_t num_rows);

 private:
  // batch_ = the state after the residual's norm or mixer.
  absl::Status EnterPart(const Residual& residual);
  // The state, plus what the part put into part_out_.
  void LeavePart(const Residual& residual);
  // to.row(i) = norm of from(i), for `count` rows.
  using RowOf = absl::FunctionRef<absl::Span<const float>(int64_t i)>;
  void Norm(const std::vector<float>& weight, int64_t count, RowOf from, Rows& to);
  // The same of what comes before the output: a norm, or a mixer.
  absl::Status EnterOutput(int64_t count, RowOf from, Rows& to);
  // To the observer, those of the attention that ran last.
  void ShowSelectedBlocks(int layer) const;
  // The part of recurrent states behind those of the layers.
  int ngram_part() const { return static_cast<int>(graph_.layers.size()); }

  const ModelGraph& graph_;
  ThreadPool& pool_;
  ExpertWeights& experts_;
  std::vector<RotaryTable> rotary_;  // By ModelGraph::rotations.
  StreamMixerBlock stream_mixer_block_;
  NgramBlock ngram_block_;
  SelfAttentionBlock attention_block_;
  LatentAttentionBlock latent_attention_block_;
  DeltaNetBlock delta_net_block_;
  ShortConvolutionBlock short_convolution_block_;
  FeedForwardBlock feed_forward_block_;
  ExpertsBlock experts_block_;
  StepObserver* observer_ = nullptr;
  Step step_;
  StepRouting routing_;
  int64_t expert_bytes_ = 0;
  std::vector<int64_t> output_rows_;  // Indices of the rows that want output.
  Rows x_, normed_, part_out_, hidden_, logits_;
  ActivationBatch batch_;
  ProductJob output_job_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_CPU_LAYERS_H_
