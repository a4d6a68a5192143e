#include "strata/generate/commands/conversation.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/chat_format.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/commands/generate_options.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

absl::StatusOr<Conversation> Conversation::Create(const TextModel& model,
                                                  const GenerateOptions& options) {
  ASSIGN_OR_RETURN(const Tokenizer* tokenizer, model.NeedTokenizer());
  ASSIGN_OR_RETURN(ChatFormat format,
                   ChatFormat::Choose(model.file(), *tokenizer, options.chat_format));
  Note(absl::StrCat("chat format: ", format.name()));
  Conversation conversation(*tokenizer, std::move(format));
  if (!options.system.empty()) {
    conversation.messages_.push_back({ChatMessage::Role::kSystem, options.system});
  }
  return conversation;
}

void Conversation::AddUser(std::string content) {
  messages_.push_back({ChatMessage::Role::kUser, std::move(content)});
}

void Conversation::AddAnswer(std::string content) {
  messages_.push_back({ChatMessage::Role::kAssistant, std::move(content)});
}

absl::StatusOr<std::vector<TokenId>> Conversation::Ids() const {
  const absl::CivilDay today = absl::ToCivilDay(absl::Now(), absl::LocalTimeZone());
  return tokenizer_->EncodePieces(format_.Format(messages_, {.date = today}));
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
