// Runs a model on the CPU: tokens in, logits out, with the context remembered between steps.
//
// Weights are used where they lie in the mapped file. A step feeds some tokens at the next
// positions; how a text is cut into steps changes no bit of any result, and neither does the number
// of threads (docs/design/generate.md).
//
// Used by one thread at a time. `file` and `graph` outlive the engine.
#ifndef STRATA_GENERATE_ENGINE_ENGINE_H_
#define STRATA_GENERATE_ENGINE_ENGINE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/engine/activation_batch.h"
#include "strata/generate/engine/expert_weights.h"
#include "strata/generate/engine/experts_block.h"
#include "strata/generate/engine/feed_forward_block.h"
#include "strata/generate/engine/kv_cache.h"
#include "strata/generate/engine/product_job.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/engine/self_attention_block.h"
#include "strata/generate/engine/step_observer.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

class Engine {
 public:
  struct Options {
    int num_threads = 1;
    KvType kv_type = KvType::kF32;
    int64_t max_context = 0;  // Tokens; 0: as many as the model was made for.
  };
  enum class Want { kNothing, kLastLogits, kAllLogits };
  // Since the engine was made.
  struct Counters {
    int64_t routed = 0;        // (token, layer, rank) entries.
    int64_t expert_bytes = 0;  // Read for them: an expert once in a step and layer.
  };

  // `experts` outlives the engine; null: they are used in the mapping.
  Engine(const GgufFile& file, const ModelGraph& graph, const Options& options,
         ExpertWeights* experts = nullptr);

  int64_t max_context() const { return max_context_; }
  int64_t vocabulary() const { return graph_.vocabulary; }
  int num_threads() const { return pool_.num_threads(); }
  const Counters& counters() const { return counters_; }
  int64_t kv_bytes() const { return cache_.bytes(); }
  // Of activations, as much as the largest step so far needed.
  int64_t workspace_bytes() const;
  // May be null; outlives its use.
  void set_observer(StepObserver* observer) { observer_ = observer; }

  // Tokens fed so far: the position of the next one.
  int64_t position() const { return cache_.size(); }
  // Forgets tokens from `position` on, or from somewhat before where a part of the model cannot
  // stop in between. Returns the new position(), from which tokens are to be fed again.
  int64_t Rewind(int64_t position);

  // Feeds `tokens`, ids of the vocabulary, that fit into the context. The rows returned (none, the
  // last token's, or one per token) are valid until the next call. An error leaves position() as it
  // was; kinds: changed, nan_logits.
  absl::StatusOr<const Rows*> Step(absl::Span<const TokenId> tokens, Want want);

  // Around the steps of a prompt, and after its first token was drawn: see ExpertWeights. No result
  // depends on them.
  void BeginPrompt() { experts_block_.UseMemory(experts_.BeginPrompt()); }
  void EndPrompt();
  void FirstTokenOut() { experts_.FirstTokenOut(); }

 private:
  absl::Status RunStep(absl::Span<const TokenId> tokens, Want want);
  absl::Status RunLayers(absl::Span<const TokenId> tokens);
  void Embed(absl::Span<const TokenId> tokens);
  absl::Status RunLayer(int index, int64_t first_position);
  absl::Status RunExperts(const MixtureOfExperts& experts, int index, int64_t first_position);
  // x_ += residual_scale * block_out_
  void AddResidual();
  // normed_ = norm of the rows of x_ from `first_row` on, as a batch.
  void Norm(const std::vector<float>& weight, int64_t first_row = 0);
  absl::Status ComputeLogits(int64_t first_row);

  const GgufFile& file_;
  const ModelGraph& graph_;
  const int64_t max_context_;
  ThreadPool pool_;
  KvCache cache_;
  std::optional<RotaryTable> rotary_;
  SelfAttentionBlock attention_block_;
  FeedForwardBlock feed_forward_block_;
  MappedExperts mapped_experts_;
  ExpertWeights& experts_;
  ExpertsBlock experts_block_;
  StepObserver* observer_ = nullptr;
  Counters counters_;
  Rows x_, normed_, block_out_, logits_;
  ActivationBatch batch_;
  ProductJob output_job_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_ENGINE_H_
