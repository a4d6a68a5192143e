// One message of a conversation.
#ifndef STRATA_GENERATE_CHAT_CHAT_MESSAGE_H_
#define STRATA_GENERATE_CHAT_CHAT_MESSAGE_H_

#include <string>
#include <utility>

#include "strata/generate/chat/jinja/marked_text.h"

namespace strata {

struct ChatMessage {
  enum class Role { kSystem, kUser, kAssistant };

  static ChatMessage System(std::string text) {
    return {Role::kSystem, jinja::MarkedText(std::move(text), /*is_content=*/true)};
  }
  static ChatMessage User(std::string text) {
    return {Role::kUser, jinja::MarkedText(std::move(text), /*is_content=*/true)};
  }

  Role role;
  // What people wrote is content. Of an answer, special tokens are not (answer_message.h).
  jinja::MarkedText content;
  // Of an answer, where the model keeps it apart from what it says; empty: none.
  jinja::MarkedText thinking = {};
};

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_CHAT_MESSAGE_H_
