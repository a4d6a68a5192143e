// Writes conversations as prompts, the way a model was trained to read them: by running a chat
// template.
//
// Content is kept apart from what the template writes around it: a message that says "<|im_end|>"
// stays text, and so do tools and arguments. Immutable; Thread-safe.
#ifndef STRATA_GENERATE_CHAT_CHAT_FORMAT_H_
#define STRATA_GENERATE_CHAT_CHAT_FORMAT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/chat/jinja/value.h"
#include "strata/generate/chat/prompt_template.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

class ChatFormat {
 public:
  // What a template is told beside the messages.
  struct Variables {
    nlohmann::ordered_json tools;      // An array; null: none.
    nlohmann::ordered_json arguments;  // An object of further variables; null: none.
  };
  struct Options {
    // The prompt ends where the model begins to answer.
    bool opens_answer = true;
    absl::CivilSecond now;  // For templates that tell the model the date.
  };

  // A UsageError for arguments that are no object, that set what has a flag of its own, or that are
  // too large or deep; for such tools an InputError of kind chat_tools that names no file.
  static absl::Status Check(const Variables& variables);

  // With the texts of the tokenizer's special tokens as variables (`bos_token`, `eos_token`, ...):
  // empty for a BOS or EOS that there is none of. Errors of Check.
  static absl::StatusOr<ChatFormat> Create(PromptTemplate prompt_template,
                                           const Tokenizer& tokenizer, const Variables& variables);

  // A BOS that the template writes included; nothing else is to be added. Errors of
  // PromptTemplate::Render.
  absl::StatusOr<std::vector<TextPiece>> Format(absl::Span<const ChatMessage> messages,
                                                const Options& options) const;

 private:
  ChatFormat(PromptTemplate prompt_template, jinja::Dict variables);

  PromptTemplate template_;
  jinja::Dict variables_;  // Without the messages.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_CHAT_FORMAT_H_
