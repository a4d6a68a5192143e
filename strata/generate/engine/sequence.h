// One text under way in an engine: its ids, its sampler, and what the engine remembers of it.
//
// Thread-compatible; the engine outlives it.
#ifndef STRATA_GENERATE_ENGINE_SEQUENCE_H_
#define STRATA_GENERATE_ENGINE_SEQUENCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/sampling/sampler.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

class Sequence {
 public:
  // Of the logits of the tokens that are fed.
  enum class Want { kNothing, kLast, kAll };
  struct FeedOptions {
    Want logits = Want::kNothing;
    bool draws = false;  // A token after the last one.
  };

  explicit Sequence(Engine& engine, const SamplerOptions& sampling = {})
      : engine_(engine), state_(engine.NewSequence()), sampler_(sampling) {}

  // What the engine has seen.
  absl::Span<const TokenId> ids() const {
    return absl::MakeConstSpan(ids_).subspan(0, static_cast<size_t>(position()));
  }
  int64_t position() const { return state_->position(); }
  // As SequenceState.
  int64_t Rewind(int64_t position) { return state_->Rewind(position); }
  // For so many tokens more.
  absl::Status MakeRoom(int64_t num_tokens) { return state_->MakeRoom(position() + num_tokens); }

  // Adds rows for `tokens`, at least one, which follow those that were fed, to a batch of several
  // sequences. Nothing is fed until the step has succeeded. The rows borrow from the sequence until
  // it is used again.
  void AppendRows(absl::Span<const TokenId> tokens, const FeedOptions& options,
                  std::vector<StepRow>& rows);

  // A step of this sequence alone: tokens of the vocabulary that fit into the context. Errors and
  // the result are those of Engine::Run.
  absl::StatusOr<const StepResult*> Feed(absl::Span<const TokenId> tokens,
                                         const FeedOptions& options,
                                         const std::function<bool()>* should_stop = nullptr);

 private:
  Engine& engine_;
  const std::unique_ptr<SequenceState> state_;
  Sampler sampler_;
  std::vector<TokenId> ids_;   // Those that were fed, and those of a step that has not succeeded.
  std::vector<StepRow> rows_;  // Of Feed; kept for their memory.
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_SEQUENCE_H_
