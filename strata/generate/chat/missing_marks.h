// Marks of a prompt that the vocabulary has no token for.
#ifndef STRATA_GENERATE_CHAT_MISSING_MARKS_H_
#define STRATA_GENERATE_CHAT_MISSING_MARKS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

// Texts with the shape of a mark, like "<|im_start|>", that the template wrote and that are no
// special token: the model reads them letter by letter, which it was hardly trained to. Each once,
// in the order of the prompt; content is not looked at.
std::vector<std::string> MissingMarks(absl::Span<const TextPiece> prompt,
                                      const Tokenizer& tokenizer);

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_MISSING_MARKS_H_
