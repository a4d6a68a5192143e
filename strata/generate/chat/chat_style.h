// How a family of models writes conversations, as data: the text around each message.
//
// Marks are texts with special tokens in them. In a mark "{eos}" is the vocabulary's EOS and
// "{date}" the date of the conversation. The values come from the makers' published templates;
// docs/design/tokenizer.md says which.
#ifndef STRATA_GENERATE_CHAT_CHAT_STYLE_H_
#define STRATA_GENERATE_CHAT_CHAT_STYLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

struct ChatStyle {
  struct Turn {
    std::string before;               // A mark.
    std::string after;                // A mark.
    bool trims = false;               // White space at both ends of the message goes.
    std::string before_content = {};  // A mark; left out with an empty message.
  };
  enum class SystemPlace { kOwnTurn, kInFirstUserTurn, kInLastUserTurn };

  std::string name;
  std::string beginning = {};  // A mark, after BOS.
  Turn system = {};
  Turn user = {};
  Turn assistant = {};
  std::string answer_opening = {};                   // A mark: what the model continues.
  SystemPlace system_place = SystemPlace::kOwnTurn;  // In a user turn two line ends follow it.
  std::string default_system = {};   // When a conversation has no system message; may hold {date}.
  std::string system_preamble = {};  // Put before the system message, which is there even if empty.
  bool ignores_empty_system = false;     // An empty system message is none.
  std::string date_format = "%Y-%m-%d";  // Of absl::FormatTime.
  bool begins_with_bos = false;
  // Answers lose what precedes "</think>".
  bool drops_reasoning = false;
  // ... and the line ends after it.
  bool drops_line_ends_after_reasoning = false;
};

// All styles, each with the details that most of its files have.
absl::Span<const ChatStyle> ChatStyles();

// Null if there is none of that name.
const ChatStyle* FindChatStyle(absl::string_view name);

// "chatml, llama3, ...".
std::string ChatStyleNames();

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_CHAT_STYLE_H_
