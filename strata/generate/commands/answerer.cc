#include "strata/generate/commands/answerer.h"

#include <cstdint>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/error.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/commands/answer_text.h"
#include "strata/generate/commands/generate_options.h"
#include "strata/generate/commands/generation_report.h"
#include "strata/generate/commands/interrupt.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/sampling/chat_sampling.h"
#include "strata/generate/sampling/sampler.h"
#include "strata/generate/sampling/sampling_request.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

// Prints pieces as they come, unless it is told not to.
class Stream {
 public:
  explicit Stream(bool is_open) : is_open_(is_open) {}

  // False when stdout takes no more.
  bool Print(const std::string& piece) {
    if (is_open_ && !piece.empty()) std::cout << piece << std::flush;
    return std::cout.good();
  }

 private:
  const bool is_open_;
};

}  // namespace

absl::Status CheckFits(int64_t num_prompt, int64_t max_context) {
  if (num_prompt <= max_context) return absl::OkStatus();
  return UsageError(absl::StrCat("the prompt has ", num_prompt, " tokens, the context holds ",
                                 max_context, " (--max_context)"));
}

Answerer::Answerer(TextModel& model, const GenerateOptions& options, InterruptHandler& interrupt)
    : model_(model),
      options_(options),
      interrupt_(interrupt),
      sampling_(Sampling()),
      generator_(model.engine(), GeneratorOptions()) {}

SamplerOptions Answerer::Sampling() const {
  return ResolveSampling(options_.sampling, options_.chat.has_value() ? ChatSampling(model_.file())
                                                                      : SamplerOptions());
}

Generator::Options Answerer::GeneratorOptions() const {
  return {.sampling = sampling_,
          .max_new = options_.max_new,
          .prompt_batch = model_.engine().prompt_batch(),
          .keep_logits = !options_.dump_logits.empty()};
}

std::optional<TokenId> Answerer::StopToken() const {
  const Tokenizer* const tokenizer = model_.tokenizer();
  if (tokenizer == nullptr || options_.stop.empty()) return std::nullopt;
  return tokenizer->SpecialTokenOf(options_.stop);
}

absl::StatusOr<Answerer::Answer> Answerer::Run(absl::Span<const TokenId> prompt) {
  RETURN_IF_ERROR(CheckFits(std::ssize(prompt), model_.engine().max_context()));
  const NoteHold hold;
  const std::optional<TokenId> stop_token = StopToken();
  const Tokenizer* const tokenizer = model_.tokenizer();
  Stream stream(!options_.json);
  std::optional<AnswerText> text;
  if (tokenizer != nullptr) text.emplace(*tokenizer, options_.stop);
  Generator::Callbacks callbacks;
  callbacks.is_interrupted = [this] { return interrupt_.is_interrupted(); };
  callbacks.ends_text = [&](TokenId id) {
    return tokenizer != nullptr && !options_.ignore_eos && id < tokenizer->num_tokens() &&
           tokenizer->EndsGeneration(id);
  };
  callbacks.on_token = [&](TokenId id) {
    if (id == stop_token) return false;
    if (!text.has_value()) return stream.Print(absl::StrCat(id, " "));
    return stream.Print(text->Add(id)) && !text->is_stopped();
  };

  const TextModel::Counters before = model_.counters();
  Answer answer;
  ASSIGN_OR_RETURN(answer.generation, generator_.Run(prompt, callbacks));
  if (text.has_value()) {
    stream.Print(text->Finish());
    answer.text = text->text();
  }
  stream.Print("\n");
  answer.stats = StatsJson(answer.generation, model_, before);
  if (sampling_.temperature > 0) answer.stats["seed"] = sampling_.seed;
  return answer;
}

}  // namespace strata
