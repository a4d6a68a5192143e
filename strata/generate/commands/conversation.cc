#include "strata/generate/commands/conversation.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/answer_message.h"
#include "strata/generate/chat/chat_format.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/chat/missing_marks.h"
#include "strata/generate/chat/prompt_template.h"
#include "strata/generate/commands/chat_inputs.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
std::string Conversation::Prompt::Text() const {
  return absl::StrJoin(pieces, "", [](std::string* out, const TextPiece& piece) {
    absl::StrAppend(out, piece.text);
  });
}

absl::StatusOr<Conversation> Conversation::Create(const GgufFile& file, const Tokenizer& tokenizer,
                                                  ChatInputs inputs) {
  if (!inputs.prompt_template.has_value()) {
    const bool has_tools = !inputs.variables.tools.is_null();
    ASSIGN_OR_RETURN(inputs.prompt_template, PromptTemplate::OfFile(file, has_tools));
  }
  ASSIGN_OR_RETURN(ChatFormat format, ChatFormat::Create(*std::move(inputs.prompt_template),
                                                         tokenizer, inputs.variables));
  Conversation conversation(tokenizer, std::move(format));
  if (!inputs.system.empty()) {
    conversation.messages_.push_back(ChatMessage::System(std::move(inputs.system)));
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
