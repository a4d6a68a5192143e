#include "strata/generate/commands/conversation.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/answer_message.h"
#include "strata/generate/chat/chat_format.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/chat/missing_marks.h"
#include "strata/generate/chat/prompt_template.h"
#include "strata/generate/commands/chat_options.h"
#include "strata/generate/commands/text_input.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

// Discarded JSON for what is none.
Json ParseJson(absl::string_view text) {
  return Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
}

absl::StatusOr<Json> ReadTools(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  Json tools = ParseJson(text);
  const auto is_object = [](const Json& tool) { return tool.is_object(); };
  if (!tools.is_array() || !std::all_of(tools.begin(), tools.end(), is_object)) {
    return InputError("chat_tools", path, "not a JSON array of objects, each a tool");
  }
  return tools;
}

absl::StatusOr<ChatFormat::Variables> ReadVariables(const ChatOptions& options) {
  ChatFormat::Variables variables;
  if (!options.tools_file.empty()) {
    ASSIGN_OR_RETURN(variables.tools, ReadTools(options.tools_file));
  }
  if (!options.template_arguments.empty()) {
    variables.arguments = ParseJson(options.template_arguments);
    if (!variables.arguments.is_object()) {
      return UsageError(
          absl::StrCat("--template_args is no JSON object: ", options.template_arguments));
    }
  }
  return variables;
}

absl::StatusOr<PromptTemplate> ChooseTemplate(const GgufFile& file, const ChatOptions& options) {
  if (!options.format.empty()) return PromptTemplate::Named(options.format);
  if (options.template_file.empty()) {
    return PromptTemplate::OfFile(file, /*has_tools=*/!options.tools_file.empty());
  }
  ASSIGN_OR_RETURN(const std::string source, ReadText(options.template_file));
  return PromptTemplate::Parse(source, options.template_file);
}

}  // namespace

std::string Conversation::Prompt::Text() const {
  return absl::StrJoin(pieces, "", [](std::string* out, const TextPiece& piece) {
    absl::StrAppend(out, piece.text);
  });
}

absl::StatusOr<Conversation> Conversation::Create(const GgufFile& file, const Tokenizer& tokenizer,
                                                  const ChatOptions& options) {
  ASSIGN_OR_RETURN(const ChatFormat::Variables variables, ReadVariables(options));
  ASSIGN_OR_RETURN(PromptTemplate prompt_template, ChooseTemplate(file, options));
  ASSIGN_OR_RETURN(ChatFormat format,
                   ChatFormat::Create(std::move(prompt_template), tokenizer, variables));
  Conversation conversation(tokenizer, std::move(format));
  if (!options.system.empty()) {
    conversation.messages_.push_back(ChatMessage::System(options.system));
  }
  return conversation;
}

void Conversation::AddUser(std::string content) {
  messages_.push_back(ChatMessage::User(std::move(content)));
}

void Conversation::AddAnswer(absl::Span<const TokenId> ids, size_t shown_bytes) {
  messages_.push_back(AnswerMessage(*tokenizer_, ids, shown_bytes));
  starts_.Add(prompt_);
}

absl::StatusOr<Conversation::Prompt> Conversation::NextPrompt() {
  const absl::CivilSecond now = absl::ToCivilSecond(absl::Now(), absl::LocalTimeZone());
  ASSIGN_OR_RETURN(prompt_, format_.Format(messages_, {.now = now}));
  WarnOfMissingMarks();
  Prompt prompt = {.pieces = starts_.Cut(prompt_)};
  ASSIGN_OR_RETURN(prompt.ids, tokenizer_->EncodePieces(prompt.pieces));
  return prompt;
}

void Conversation::WarnOfMissingMarks() {
  std::vector<std::string> missing = MissingMarks(prompt_, *tokenizer_);
  const auto is_known = [&](const std::string& mark) {
    return std::find(missing_marks_.begin(), missing_marks_.end(), mark) != missing_marks_.end();
  };
  missing.erase(std::remove_if(missing.begin(), missing.end(), is_known), missing.end());
  if (missing.empty()) return;
  Note(absl::StrCat("warning: the chat template writes ", absl::StrJoin(missing, ", "),
                    ", which are no tokens of this vocabulary: the model reads their letters"));
  missing_marks_.insert(missing_marks_.end(), missing.begin(), missing.end());
}

bool Conversation::ForgetOldest() {
  const auto is_user = [](const ChatMessage& message) {
    return message.role == ChatMessage::Role::kUser;
  };
  const auto oldest = std::find_if(messages_.begin(), messages_.end(), is_user);
  if (oldest == messages_.end()) return false;
  const auto next = std::find_if(oldest + 1, messages_.end(), is_user);
  if (next == messages_.end()) return false;
  messages_.erase(oldest, next);
  return true;
}

}  // namespace strata
