// `generate --tokenize` and `generate --detokenize`: a text's token ids, and the text of ids.
#ifndef STRATA_GENERATE_COMMANDS_TOKENIZE_COMMAND_H_
#define STRATA_GENERATE_COMMANDS_TOKENIZE_COMMAND_H_

#include <string>

#include "absl/status/status.h"

namespace strata {

struct TokenizeOptions {
  std::string model;           // A GGUF file; a vocabulary is enough.
  std::string input;           // A file, or "-" for stdin.
  bool parse_special = false;  // Texts of control tokens are those tokens. For Tokenize alone.
  bool json = false;
};

// Prints the ids of the text, with BOS and EOS where the model wants them, separated by spaces;
// with `json` as {"ids": [...]}.
absl::Status Tokenize(const TokenizeOptions& options);

// Prints the text of ids that are separated by white space, byte for byte; with `json` as
// {"text": "..."}. The inverse of Tokenize: see Decode in detokenizer.h. An id that is none is an
// InputError of kind token_ids.
absl::Status Detokenize(const TokenizeOptions& options);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_TOKENIZE_COMMAND_H_
