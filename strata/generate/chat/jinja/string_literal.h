// What a text between quotes in a template stands for.
#ifndef STRATA_GENERATE_CHAT_JINJA_STRING_LITERAL_H_
#define STRATA_GENERATE_CHAT_JINJA_STRING_LITERAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace strata::jinja {

// With Python's escapes: \n, \x41, \u0041, \101 and their like; an unknown one stays as it is. An
// error for one that is cut short, for a surrogate without its other half and for names (\N).
absl::StatusOr<std::string> UnescapeLiteral(absl::string_view literal);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_STRING_LITERAL_H_
