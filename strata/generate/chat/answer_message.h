// The message that an answer becomes in the conversation that goes on.
#ifndef STRATA_GENERATE_CHAT_ANSWER_MESSAGE_H_
#define STRATA_GENERATE_CHAT_ANSWER_MESSAGE_H_

#include <cstddef>

#include "absl/types/span.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

// Of the ids that the model drew. Special tokens are no content: in the next prompt they are to be
// the tokens that they were, and templates look for marks of thinking. Control tokens, which people
// are not shown, are in it too, but for the one that ended the answer. Where the model answers in
// channels (channel_answer.h), content is what it said and thinking the rest.
//
// `shown_bytes` is how much text was shown: what a stop text cut off is left out.
ChatMessage AnswerMessage(const Tokenizer& tokenizer, absl::Span<const TokenId> ids,
                          size_t shown_bytes);

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_ANSWER_MESSAGE_H_
