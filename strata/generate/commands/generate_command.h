// `generate --prompt`, `--prompt_file`, `--tokens_file`: one prompt, one answer.
#ifndef STRATA_GENERATE_COMMANDS_GENERATE_COMMAND_H_
#define STRATA_GENERATE_COMMANDS_GENERATE_COMMAND_H_

#include "absl/status/status.h"
#include "strata/generate/commands/generate_options.h"

namespace strata {

// Streams the answer's text to stdout, or prints one object with prompt_ids, ids, text,
// stop_reason, prompt_batch and stats. Exactly one prompt is given; whatever is wrong with it is found
// before the weights are read, and an empty one is a UsageError. InterruptedError when Ctrl-C ended
// the answer, which is printed as far as it came.
absl::Status GenerateAnswer(const GenerateOptions& options);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_GENERATE_COMMAND_H_
