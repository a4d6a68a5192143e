// What a command reads besides the model: text and token ids, from files or stdin.
#ifndef STRATA_GENERATE_COMMANDS_TEXT_INPUT_H_
#define STRATA_GENERATE_COMMANDS_TEXT_INPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

// All bytes of a file, a pipe or a terminal; "-" is stdin.
absl::StatusOr<std::string> ReadText(const std::string& path);

// Ids separated by white space. One that is not below `num_tokens` is an InputError of kind
// token_ids.
absl::StatusOr<std::vector<TokenId>> ReadTokenIds(const std::string& path, int64_t num_tokens);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_TEXT_INPUT_H_
