#include "strata/generate/chat/channel_answer.h"

#include "absl/strings/match.h"
#include "strata/generate/tokenizer/detokenizer.h"

namespace strata {
namespace {

class ChannelReader {
 public:
  ChannelReader(const Tokenizer& tokenizer, TokenId channel, TokenId message)
      : tokenizer_(tokenizer), channel_(channel), message_(message), text_(tokenizer, {}) {}

  void Add(TokenId id) {
    if (id == channel_) {
      Enter(State::kHeader);
    } else if (id == message_ && state_ == State::kHeader) {
      header_ += text_.Finish();
      has_message_ = true;
      Enter(State::kMessage);
    } else if (tokenizer_.IsSpecial(id) && state_ == State::kMessage) {
      Enter(State::kOutside);
    } else {
      Append(text_.Add(id));
    }
  }

  std::optional<ChannelAnswer> Finish() {
    Enter(State::kOutside);
    return has_message_ ? std::optional<ChannelAnswer>(answer_) : std::nullopt;
  }

 private:
  enum class State { kOutside, kHeader, kMessage };

  void Enter(State state) {
    Append(text_.Finish());
    if (state == State::kHeader) header_.clear();
    state_ = state;
  }

  void Append(const std::string& text) {
    if (state_ == State::kHeader) header_ += text;
    if (state_ != State::kMessage) return;
    (absl::StartsWith(header_, "final") ? answer_.content : answer_.thinking) += text;
  }

  const Tokenizer& tokenizer_;
  const TokenId channel_;
  const TokenId message_;
  Detokenizer text_;
  State state_ = State::kOutside;
  std::string header_;  // "analysis", "commentary to=functions.f".
  bool has_message_ = false;
  ChannelAnswer answer_;
};

}  // namespace

std::optional<ChannelAnswer> ReadChannels(const Tokenizer& tokenizer,
                                          absl::Span<const TokenId> ids) {
  const std::optional<TokenId> channel = tokenizer.SpecialTokenOf("<|channel|>");
  const std::optional<TokenId> message = tokenizer.SpecialTokenOf("<|message|>");
  if (!channel.has_value() || !message.has_value()) return std::nullopt;
  ChannelReader reader(tokenizer, *channel, *message);
  for (const TokenId id : ids) {
    if (id < tokenizer.num_tokens()) reader.Add(id);
  }
  return reader.Finish();
}

}  // namespace strata
