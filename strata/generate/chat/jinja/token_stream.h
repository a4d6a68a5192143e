// Tokens in order, with what a parser asks of the next ones.
#ifndef STRATA_GENERATE_CHAT_JINJA_TOKEN_STREAM_H_
#define STRATA_GENERATE_CHAT_JINJA_TOKEN_STREAM_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/lexer.h"

namespace strata::jinja {

class TokenStream {
 public:
  // `tokens` ends with its end.
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  int line() const { return current().line; }

  bool IsAt(Token::Kind kind) const { return current().kind == kind; }
  bool IsAtName(absl::string_view name) const {
    return IsAt(Token::Kind::kName) && current().text == name;
  }
  bool IsAtOperator(absl::string_view op) const {
    return IsAt(Token::Kind::kOperator) && current().text == op;
  }
  bool IsNextOperator(absl::string_view op) const {
    return next().kind == Token::Kind::kOperator && next().text == op;
  }

  // The current token, which is passed. The end is never passed.
  const Token& Take() {
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool TakeName(absl::string_view name);
  bool TakeOperator(absl::string_view op);
  absl::StatusOr<std::string> ExpectName();
  absl::Status ExpectOperator(absl::string_view op);
  absl::Status Expect(Token::Kind kind, absl::string_view what);

  // With the current line.
  absl::Status Error(absl::string_view message) const;
  // Of something that was not expected here.
  absl::Status Unexpected(absl::string_view expected) const;

 private:
  const std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_TOKEN_STREAM_H_
