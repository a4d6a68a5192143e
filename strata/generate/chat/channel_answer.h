// Answers in channels, as gpt-oss writes them: a message for each, between special tokens.
//
//   <|channel|>analysis<|message|>A greeting.<|end|><|start|>assistant<|channel|>final<|message|>Hi!
#ifndef STRATA_GENERATE_CHAT_CHANNEL_ANSWER_H_
#define STRATA_GENERATE_CHAT_CHANNEL_ANSWER_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

struct ChannelAnswer {
  std::string thinking;  // Of all other channels.
  std::string content;   // Of the channel "final".
};

// Nothing for a vocabulary without such tokens, and for an answer that opens no channel. Ids beyond
// the vocabulary are left out.
std::optional<ChannelAnswer> ReadChannels(const Tokenizer& tokenizer,
                                          absl::Span<const TokenId> ids);

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_CHANNEL_ANSWER_H_
