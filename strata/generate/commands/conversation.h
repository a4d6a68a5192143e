// A conversation with a model, as the prompt that its next answer continues.
//
// When it no longer fits into the context, its oldest exchanges are forgotten; the system message
// stays. Thread-compatible.
#ifndef STRATA_GENERATE_COMMANDS_CONVERSATION_H_
#define STRATA_GENERATE_COMMANDS_CONVERSATION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "strata/generate/chat/chat_format.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/commands/generate_options.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

class Conversation {
 public:
  // In the format that the options name or the file's template shows; begins with the system
  // message of the options. Errors of ChatFormat::Choose; kind tokenizer_missing. `model` outlives
  // it.
  static absl::StatusOr<Conversation> Create(const TextModel& model,
                                             const GenerateOptions& options);

  void AddUser(std::string content);
  void AddAnswer(std::string content);

  // What was said so far, and coming back to it: what was said since is forgotten.
  const std::vector<ChatMessage>& messages() const { return messages_; }
  void GoBackTo(std::vector<ChatMessage> messages) { messages_ = std::move(messages); }

  // What the model is to continue.
  absl::StatusOr<std::vector<TokenId>> Ids() const;
  // Forgets the oldest exchange. False when only one is left.
  bool ForgetOldest();

 private:
  Conversation(const Tokenizer& tokenizer, ChatFormat format)
      : tokenizer_(&tokenizer), format_(std::move(format)) {}

  const Tokenizer* tokenizer_;
  ChatFormat format_;
  std::vector<ChatMessage> messages_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_CONVERSATION_H_
