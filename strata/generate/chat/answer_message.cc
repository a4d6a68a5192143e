#include "strata/generate/chat/answer_message.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "strata/generate/chat/channel_answer.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/tokenizer/detokenizer.h"

namespace strata {
namespace {

using jinja::MarkedText;

MarkedText TextOf(const Tokenizer& tokenizer, absl::Span<const TokenId> ids, size_t shown_bytes) {
  Detokenizer detokenizer(tokenizer, {});
  MarkedText text;
  const auto append = [&](const std::string& shown, bool is_content) {
    const size_t size = std::min(shown.size(), shown_bytes);
    text.Append(shown.substr(0, size), is_content);
    shown_bytes -= size;
  };
  for (const TokenId id : ids) {
    if (id >= tokenizer.num_tokens()) continue;
    if (shown_bytes > 0 && tokenizer.IsControl(id)) {
      append(detokenizer.Finish(), /*is_content=*/true);
      text.Append(tokenizer.BytesOf(id), /*is_content=*/false);
    } else {
      append(detokenizer.Add(id), /*is_content=*/!tokenizer.IsSpecial(id));
    }
  }
  append(detokenizer.Finish(), /*is_content=*/true);
  return text;
}

}  // namespace

ChatMessage AnswerMessage(const Tokenizer& tokenizer, absl::Span<const TokenId> ids,
                          size_t shown_bytes) {
  if (!ids.empty() && tokenizer.EndsGeneration(ids.back())) ids.remove_suffix(1);
  ChatMessage message = {ChatMessage::Role::kAssistant, {}};
  if (std::optional<ChannelAnswer> channels = ReadChannels(tokenizer, ids)) {
    message.content = MarkedText(std::move(channels->content), /*is_content=*/true);
    message.thinking = MarkedText(std::move(channels->thinking), /*is_content=*/true);
  } else {
    message.content = TextOf(tokenizer, ids, shown_bytes);
  }
  return message;
}

}  // namespace strata
