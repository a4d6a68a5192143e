// What the options of a conversation name, read and found to be right: all that can be known before
// a model is loaded.
#ifndef STRATA_GENERATE_COMMANDS_CHAT_INPUTS_H_
#define STRATA_GENERATE_COMMANDS_CHAT_INPUTS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "strata/generate/chat/chat_format.h"
#include "strata/generate/chat/prompt_template.h"
#include "strata/generate/commands/chat_options.h"

namespace strata {

struct ChatInputs {
  std::string system;                             // Empty: no system message.
  std::optional<PromptTemplate> prompt_template;  // Absent: the model's own.
  ChatFormat::Variables variables;

  // Errors of PromptTemplate and ChatFormat::Check, and of reading the files that the options name:
  // kind chat_tools for tools that are no JSON array of objects.
  static absl::StatusOr<ChatInputs> Read(const ChatOptions& options);
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_CHAT_INPUTS_H_
