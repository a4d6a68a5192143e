// Splits a template into tokens, taking white space away where its marks say so.
//
// The environment is that of chat templates: the line end after a block goes, and so does the
// space before a block that begins its line (Jinja's trim_blocks and lstrip_blocks); one line end
// at the end of the template goes too.
#ifndef STRATA_GENERATE_CHAT_JINJA_LEXER_H_
#define STRATA_GENERATE_CHAT_JINJA_LEXER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace strata::jinja {

struct Token {
  enum class Kind {
    kText,  // Outside of all tags.
    kBlockBegin,
    kBlockEnd,
    kVariableBegin,
    kVariableEnd,
    kName,
    kString,
    kInteger,
    kFloat,
    kOperator,
    kEnd,  // The last token of all.
  };

  Kind kind;
  int line;
  std::string text;  // Of a string: what it stands for.
  int64_t integer = 0;
  double number = 0;
};

// An error names the line.
absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view source);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_LEXER_H_
