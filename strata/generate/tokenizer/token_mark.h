// Texts with the shape of a control token, as chat templates write them around messages:
// "<|im_end|>", "<｜User｜>", "<start_of_turn>", "<|turn>", "<turn|>", "[INST]".
#ifndef STRATA_GENERATE_TOKENIZER_TOKEN_MARK_H_
#define STRATA_GENERATE_TOKENIZER_TOKEN_MARK_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace strata {

// Whether all of `text` is one.
bool IsTokenMark(absl::string_view text);

// All in a text, in its order; they are parts of it.
std::vector<absl::string_view> FindTokenMarks(absl::string_view text);

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_TOKEN_MARK_H_
