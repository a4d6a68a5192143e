// A conversation with a model, as the prompt that its next answer continues.
//
// When it no longer fits into the context, its oldest exchanges are forgotten; the system message
// stays. Thread-compatible.
#ifndef STRATA_GENERATE_COMMANDS_CONVERSATION_H_
#define STRATA_GENERATE_COMMANDS_CONVERSATION_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/chat/answer_starts.h"
#include "strata/generate/chat/chat_format.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/commands/chat_inputs.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

class Conversation {
 public:
  struct Prompt {
    std::vector<TextPiece> pieces;
    std::vector<TokenId> ids;

    std::string Text() const;
  };

  // Written by the template of the inputs, or the model's; begins with their system message. Errors
  // of PromptTemplate and ChatFormat. `tokenizer`, the file's, outlives it.
  static absl::StatusOr<Conversation> Create(const GgufFile& file, const Tokenizer& tokenizer,
                                             ChatInputs inputs);

  void AddUser(std::string content);
  // Of the model, behind the prompt that NextPrompt gave last: see AnswerMessage.
  void AddAnswer(absl::Span<const TokenId> ids, size_t shown_bytes);

  // What was said so far, and coming back to it: what was said since is forgotten.
  const std::vector<ChatMessage>& messages() const { return messages_; }
  void GoBackTo(std::vector<ChatMessage> messages) { messages_ = std::move(messages); }

  // What the model is to continue. Marks of it that are no tokens are logged, each once. Errors of
  // PromptTemplate::Render.
  absl::StatusOr<Prompt> NextPrompt();
  // Forgets the oldest exchange. False when only one is left.
  bool ForgetOldest();

 private:
  Conversation(const Tokenizer& tokenizer, ChatFormat format)
      : tokenizer_(&tokenizer), format_(std::move(format)) {}

  void WarnOfMissingMarks();

  const Tokenizer* tokenizer_;
  ChatFormat format_;
  std::vector<ChatMessage> messages_;
  std::vector<TextPiece> prompt_;  // The last one.
  AnswerStarts starts_;
  std::vector<std::string> missing_marks_;  // That were logged.
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_CONVERSATION_H_
