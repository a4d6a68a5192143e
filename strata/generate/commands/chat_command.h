// `generate --chat` without a prompt: a conversation, a message a turn.
#ifndef STRATA_GENERATE_COMMANDS_CHAT_COMMAND_H_
#define STRATA_GENERATE_COMMANDS_CHAT_COMMAND_H_

#include "absl/status/status.h"
#include "strata/generate/commands/generate_options.h"

namespace strata {

// There are chat options. Answers on stdout; the prompt sign and remarks go to stderr, the sign only
// when stdin is a terminal. Ctrl-C stops an answer, which is kept as far as it came; at the prompt it
// clears the line, and a second one leaves, as do /quit and the end of the input. A message that
// cannot be answered is left out of the conversation, which goes on.
absl::Status Chat(const GenerateOptions& options);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_CHAT_COMMAND_H_
