// The text of an answer as its ids come, up to a stop text.
//
// What has been handed out is never half a character and never a part of the stop text: bytes that
// may turn out to be its beginning wait. Thread-compatible.
#ifndef STRATA_GENERATE_COMMANDS_ANSWER_TEXT_H_
#define STRATA_GENERATE_COMMANDS_ANSWER_TEXT_H_

#include <string>

#include "strata/generate/tokenizer/detokenizer.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

class AnswerText {
 public:
  // `stop` may be empty: nothing stops. `tokenizer` outlives the object.
  AnswerText(const Tokenizer& tokenizer, std::string stop);

  // What may be shown now. Ids that the tokenizer has no text for give none.
  std::string Add(TokenId id);
  // What had to wait; the answer is over.
  std::string Finish();

  // Whether the stop text has come. What follows it is dropped.
  bool is_stopped() const { return is_stopped_; }
  // All that was handed out.
  const std::string& text() const { return text_; }

 private:
  std::string Take(bool at_end);

  const int num_tokens_;
  const std::string stop_;
  Detokenizer detokenizer_;
  std::string waiting_;
  std::string text_;
  bool is_stopped_ = false;
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_ANSWER_TEXT_H_
