// One message of a conversation.
#ifndef STRATA_GENERATE_CHAT_CHAT_MESSAGE_H_
#define STRATA_GENERATE_CHAT_CHAT_MESSAGE_H_

#include <string>

namespace strata {

struct ChatMessage {
  enum class Role { kSystem, kUser, kAssistant };

  Role role;
  std::string content;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_CHAT_MESSAGE_H_
