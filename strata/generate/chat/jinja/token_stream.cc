#include "strata/generate/chat/jinja/token_stream.h"

#include "absl/strings/str_cat.h"
#include "strata/core/printable.h"

namespace strata::jinja {

bool TokenStream::TakeName(absl::string_view name) {
  if (!IsAtName(name)) return false;
  Take();
  return true;
}

bool TokenStream::TakeOperator(absl::string_view op) {
  if (!IsAtOperator(op)) return false;
  Take();
  return true;
}

absl::StatusOr<std::string> TokenStream::ExpectName() {
  if (!IsAt(Token::Kind::kName)) return Unexpected("a name");
  return Take().text;
}

absl::Status TokenStream::ExpectOperator(absl::string_view op) {
  if (!TakeOperator(op)) return Unexpected(absl::StrCat("'", op, "'"));
  return absl::OkStatus();
}

absl::Status TokenStream::Expect(Token::Kind kind, absl::string_view what) {
  if (!IsAt(kind)) return Unexpected(what);
  Take();
  return absl::OkStatus();
}

absl::Status TokenStream::Error(absl::string_view message) const {
  return absl::InvalidArgumentError(absl::StrCat("line ", line(), ": ", message));
}

absl::Status TokenStream::Unexpected(absl::string_view expected) const {
  std::string found;
  switch (current().kind) {
    case Token::Kind::kText:
      found = "text";
      break;
    case Token::Kind::kBlockBegin:
    case Token::Kind::kVariableBegin:
      found = "a tag";
      break;
    case Token::Kind::kBlockEnd:
    case Token::Kind::kVariableEnd:
      found = "the end of the tag";
      break;
    case Token::Kind::kEnd:
      found = "the end of the template";
      break;
    default:
      found = absl::StrCat("'", Printable(current().text, 40), "'");
      break;
  }
  return Error(absl::StrCat("expected ", expected, ", found ", found));
}

}  // namespace strata::jinja
