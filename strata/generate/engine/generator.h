// From a prompt's ids to the ids that follow: feeds the prompt in batches, then draws token after
// token until something ends it.
//
// What of a prompt the engine has already seen (the text so far of a chat) is not fed again.
// Used by one thread.
#ifndef STRATA_GENERATE_ENGINE_GENERATOR_H_
#define STRATA_GENERATE_ENGINE_GENERATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/sampling/sampler.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

// kLength: as many as asked for; kContext: no further token fits into the context.
enum class StopReason { kEos, kLength, kContext, kStop, kInterrupt };
// "eos", "length", "context", "stop", "interrupt".
absl::string_view NameOf(StopReason reason);

struct Generation {
  using Duration = std::chrono::duration<double>;

  std::vector<TokenId> ids;  // Drawn ones alone, with the one that ended the text.
  StopReason stop_reason = StopReason::kLength;
  // The prompt's rows and those of the ids, if they were asked for: after each token the logits.
  std::vector<float> logits;
  int64_t num_prompt = 0;      // Tokens of the prompt,
  int64_t num_prompt_fed = 0;  // and those that the engine had not seen.
  Duration prompt_time{};      // Until the logits after the prompt were there.
  Duration first_token_time{};
  Duration decode_time{};  // From the first token on.
};

class Generator {
 public:
  struct Options {
    SamplerOptions sampling;
    int64_t max_new = 0;
    int64_t prompt_batch = 128;  // Tokens of the prompt in a step.
    bool keep_logits = false;
  };
  struct Callbacks {
    // True for ids that end a text. Never, if empty.
    std::function<bool(TokenId)> ends_text;
    // Each id as it is drawn; false ends the text (kStop).
    std::function<bool(TokenId)> on_token;
    // Asked between steps and between their layers; true ends the text (kInterrupt).
    std::function<bool()> is_interrupted;
  };

  // The engine outlives it.
  Generator(Engine& engine, const Options& options);

  // `prompt` is not empty, shorter than the context, and of ids of the vocabulary.
  absl::StatusOr<Generation> Run(absl::Span<const TokenId> prompt, const Callbacks& callbacks);

 private:
  using Clock = std::chrono::steady_clock;

  absl::Status FeedPrompt(absl::Span<const TokenId> prompt, const Callbacks& callbacks,
                          Generation& generation);
  // A step. A token is drawn after the last of `tokens` where another may follow.
  absl::Status Feed(absl::Span<const TokenId> tokens, bool is_last, const Callbacks& callbacks,
                    Generation& generation);
  absl::Status Decode(const Callbacks& callbacks, Generation& generation);
  // Where the text ends before another token is taken, or after `token` was.
  bool EndsBefore(Generation& generation) const;
  bool EndsAfter(TokenId token, const Callbacks& callbacks, Generation& generation) const;
  bool IsFull(const Generation& generation) const;

  Engine& engine_;
  const Options options_;
  Sequence sequence_;
  TokenId drawn_ = 0;  // After the last token that was fed.
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_GENERATOR_H_
