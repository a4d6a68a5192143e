// `generate --chat --show_prompt` with a prompt: what the model would read.
#ifndef STRATA_GENERATE_COMMANDS_SHOW_PROMPT_COMMAND_H_
#define STRATA_GENERATE_COMMANDS_SHOW_PROMPT_COMMAND_H_

#include "absl/status/status.h"
#include "strata/generate/commands/generate_options.h"

namespace strata {

// Prints the prompt as the template writes it, byte for byte, or one object with prompt and
// prompt_ids. Nothing is computed: the model's file and tokenizer alone are read. There are chat
// options and a prompt; an empty one is a UsageError.
absl::Status ShowPrompt(const GenerateOptions& options);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_SHOW_PROMPT_COMMAND_H_
