#include "strata/generate/commands/generate_command.h"

#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/atomic_file.h"
#include "strata/core/cli/error_report.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/error.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/commands/answerer.h"
#include "strata/generate/commands/chat_inputs.h"
#include "strata/generate/commands/conversation.h"
#include "strata/generate/commands/generate_options.h"
#include "strata/generate/commands/idle_flags.h"
#include "strata/generate/commands/interrupt.h"
#include "strata/generate/commands/logits_dump.h"
#include "strata/generate/commands/stats_table.h"
#include "strata/generate/commands/stop_note.h"
#include "strata/generate/commands/text_input.h"
#include "strata/generate/commands/written_files.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

// `chat` is there where the prompt is a message.
absl::StatusOr<std::vector<TokenId>> EncodePrompt(const GenerateOptions& options,
                                                  std::optional<ChatInputs> chat,
                                                  const TextModel& model,
                                                  const std::string& prompt) {
  ASSIGN_OR_RETURN(const Tokenizer* tokenizer, model.NeedTokenizer());
  if (!chat.has_value()) {
    return tokenizer->Encode(
        prompt, options.parse_special ? SpecialText::kIsToken : SpecialText::kIsPlainText);
  }
  ASSIGN_OR_RETURN(Conversation conversation,
                   Conversation::Create(model.file(), *tokenizer, *std::move(chat)));
  conversation.AddUser(prompt);
  ASSIGN_OR_RETURN(Conversation::Prompt written, conversation.NextPrompt());
  return std::move(written.ids);
}

// Empty where the prompt is a file of ids.
absl::StatusOr<std::string> PromptText(const GenerateOptions& options) {
  return options.prompt_file.has_value() ? ReadPrompt(*options.prompt_file)
                                         : options.prompt.value_or("");
}

absl::StatusOr<std::vector<TokenId>> PromptIds(const GenerateOptions& options,
                                               std::optional<ChatInputs> chat,
                                               const TextModel& model, const std::string& text) {
  if (options.tokens_file.has_value()) {
    return ReadTokenIds(*options.tokens_file, model.graph().vocabulary);
  }
  // A BOS alone would be a prompt too, but hardly the one that was meant.
  if (text.empty()) return std::vector<TokenId>();
  return EncodePrompt(options, std::move(chat), model, text);
}

absl::Status Dump(absl::Span<const TokenId> prompt, const Generation& generation,
                  int64_t vocabulary, AtomicFile& file) {
  std::vector<TokenId> ids(prompt.begin(), prompt.end());
  ids.insert(ids.end(), generation.ids.begin(), generation.ids.end());
  ids.resize(generation.logits.size() / vocabulary);  // Fewer when it was interrupted.
  return WriteLogitsDump(ids, vocabulary, generation.logits, file);
}

// What the run ends with.
absl::Status Outcome(const Generation& generation) {
  if (generation.stop_reason != StopReason::kInterrupt) return absl::OkStatus();
  return InterruptedError(absl::StrCat("after ", generation.ids.size(), " tokens"));
}

void PrintAnswer(const TextModel& model, const std::vector<TokenId>& prompt,
                 const Answerer::Answer& answer) {
  Json json = {{"prompt_ids", prompt},
               {"ids", answer.generation.ids},
               {"text", model.tokenizer() != nullptr ? Json(answer.text) : Json()},
               {"stop_reason", std::string(NameOf(answer.generation.stop_reason))},
               {"prompt_batch", model.engine().prompt_batch()},
               {"stats", answer.stats}};
  const absl::Status outcome = Outcome(answer.generation);
  if (!outcome.ok()) json["error"] = ErrorJson(outcome);
  PrintJson(json);
}

}  // namespace

absl::Status GenerateAnswer(const GenerateOptions& options) {
  RETURN_IF_ERROR(CheckWrittenFiles(options));
  // First of all, so that a long run does not end in a path that cannot be written.
  std::optional<AtomicFile> dump;
  if (!options.dump_logits.empty()) {
    ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(options.dump_logits));
    dump.emplace(std::move(file));
  }
  ASSIGN_OR_RETURN(const std::string text, PromptText(options));
  std::optional<ChatInputs> chat;
  if (options.chat.has_value()) {
    ASSIGN_OR_RETURN(chat, ChatInputs::Read(*options.chat));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<TextModel> model, TextModel::Read(options.model));
  RETURN_IF_ERROR(CheckWrittenFiles(options, model->file()));
  ASSIGN_OR_RETURN(const std::vector<TokenId> prompt,
                   PromptIds(options, std::move(chat), *model, text));
  if (prompt.empty()) return UsageError("the prompt is empty");
  RETURN_IF_ERROR(CheckFits(std::ssize(prompt), model->ContextFor(options.open.engine)));
  RETURN_IF_ERROR(model->Start(options.open));
  InterruptHandler interrupt;
  Answerer answerer(*model, options, interrupt);
  NoteIdleFlags(RunFactsOf(*model, answerer.sampling(), !options.tokens_file.has_value()));
  ASSIGN_OR_RETURN(const Answerer::Answer answer, answerer.Run(prompt));
  if (dump.has_value()) {
    RETURN_IF_ERROR(Dump(prompt, answer.generation, model->engine().vocabulary(), *dump));
  }
  RETURN_IF_ERROR(model->FinishTrace());
  if (options.json) PrintAnswer(*model, prompt, answer);
  if (options.stats) std::cerr << StatsTable(answer.stats);
  const absl::Status outcome = Outcome(answer.generation);
  if (!outcome.ok()) return AlreadyPrinted(outcome);
  Note(StopNote(answer.generation, model->engine().max_context()));
  return absl::OkStatus();
}

}  // namespace strata
