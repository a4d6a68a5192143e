// Where the answers of a conversation began in its prompts.
//
// An answer was generated token by token behind a prompt. In a later prompt its text follows the
// same text, and a tokenizer would join what stands on both sides of its start ("\n" and "\n\n")
// into other tokens than the engine has seen. So prompts are cut there, as long as their text up to
// there is the same: a template may write the past in another way. Thread-compatible.
#ifndef STRATA_GENERATE_CHAT_ANSWER_STARTS_H_
#define STRATA_GENERATE_CHAT_ANSWER_STARTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/tokenizer/text_piece.h"

namespace strata {

class AnswerStarts {
 public:
  // An answer has begun behind `prompt`.
  void Add(absl::Span<const TextPiece> prompt);

  // `prompt` with pieces that start tokens where answers began.
  std::vector<TextPiece> Cut(absl::Span<const TextPiece> prompt) const;

 private:
  std::string text_;            // Of the last prompt that was added.
  std::vector<size_t> starts_;  // In bytes of it, ascending; the last is its end.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_ANSWER_STARTS_H_
