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

// The text of a prompt, as people save it: a byte order mark at its beginning and one line end at its
// end are dropped. UTF-16 and UTF-32 are an InputError of kind prompt_encoding; bytes that belong to
// no character are noted.
absl::StatusOr<std::string> ReadPrompt(const std::string& path);

// Ids separated by white space. One that is not below `num_tokens` is an InputError of kind
// token_ids.
absl::StatusOr<std::vector<TokenId>> ReadTokenIds(const std::string& path, int64_t num_tokens);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_TEXT_INPUT_H_
