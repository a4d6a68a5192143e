// Writes conversations as prompts, the way a model was trained to read them.
//
// Content is kept apart from the marks around it: a message that says "<|im_end|>" stays text. The
// prompt of a later turn extends that of an earlier one, once the answer is added, except where
// the makers' template itself goes back: it may move a system message to the last user turn
// (mistral-v3) and drop the reasoning of earlier answers. Immutable; Thread-safe.
#ifndef STRATA_GENERATE_CHAT_CHAT_FORMAT_H_
#define STRATA_GENERATE_CHAT_CHAT_FORMAT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "absl/types/span.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/chat/chat_style.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

class ChatFormat {
 public:
  struct Options {
    // The prompt ends where the model begins to answer.
    bool opens_answer = true;
    absl::CivilDay date;  // For styles that tell the model the date.
  };

  // By the template in `tokenizer.chat_template`, or by `name` if that is not empty. An InputError
  // of kind chat_template when the file has no template or one of no known format, a UsageError
  // when the name is unknown; both list the names. `tokenizer` is the file's.
  static absl::StatusOr<ChatFormat> Choose(const GgufFile& file, const Tokenizer& tokenizer,
                                           absl::string_view name = "");

  // `bos` and `eos` are the texts of those tokens, empty if there are none.
  ChatFormat(ChatStyle style, std::string bos, std::string eos);

  // The style that was taken: "chatml".
  const std::string& name() const { return style_.name; }

  // A leading BOS included.
  std::vector<TextPiece> Format(absl::Span<const ChatMessage> messages,
                                const Options& options) const;

 private:
  const ChatStyle style_;
  const std::string bos_;
  const std::string eos_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_CHAT_FORMAT_H_
