// Parses whole templates.
#ifndef STRATA_GENERATE_CHAT_JINJA_PARSER_H_
#define STRATA_GENERATE_CHAT_JINJA_PARSER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/syntax.h"

namespace strata::jinja {

// The template with its variables in their scopes. Errors name the line.
absl::StatusOr<std::unique_ptr<ParsedTemplate>> ParseTemplate(absl::string_view source);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_PARSER_H_
