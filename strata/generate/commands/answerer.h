// Answers prompts: runs the generator and streams its text to stdout.
#ifndef STRATA_GENERATE_COMMANDS_ANSWERER_H_
#define STRATA_GENERATE_COMMANDS_ANSWERER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/cli/json_output.h"
#include "strata/generate/commands/generate_options.h"
#include "strata/generate/commands/interrupt.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/sampling/sampler.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

// A UsageError for a prompt of so many tokens that a context does not hold.
absl::Status CheckFits(int64_t num_prompt, int64_t max_context);

// Tokens are drawn as the options ask, and else as ChatSampling says in a conversation and by the
// most likely token elsewhere.
class Answerer {
 public:
  struct Answer {
    Generation generation;
    std::string text;  // Empty for a model without a tokenizer.
    Json stats;
  };

  // All outlive the object.
  Answerer(TextModel& model, const GenerateOptions& options, InterruptHandler& interrupt);

  // Streams unless the options ask for JSON: text as it comes, or ids for a model that has no
  // tokenizer, and a line end behind. Notes wait until the answer is over. A prompt that does not fit
  // into the context is a UsageError, one that the machine has no memory for kResourceExhausted; of
  // neither is anything computed.
  absl::StatusOr<Answer> Run(absl::Span<const TokenId> prompt);

  // How tokens are drawn.
  const SamplerOptions& sampling() const { return sampling_; }

 private:
  SamplerOptions Sampling() const;
  Generator::Options GeneratorOptions() const;
  // The token whose text --stop is, if there is one: it ends the answer though it is never text.
  std::optional<TokenId> StopToken() const;

  TextModel& model_;
  const GenerateOptions& options_;
  InterruptHandler& interrupt_;
  const SamplerOptions sampling_;
  Generator generator_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_ANSWERER_H_
