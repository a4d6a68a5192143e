// Walks over a template's syntax that look for names.
#ifndef STRATA_GENERATE_CHAT_JINJA_MENTIONS_H_
#define STRATA_GENERATE_CHAT_JINJA_MENTIONS_H_

#include <functional>

#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/syntax.h"

namespace strata::jinja {

// `expression` and all expressions in it, outermost first.
void ForEachExpression(const Expression& expression,
                       const std::function<void(const Expression&)>& visit);

// Whether `body`, or a block in it, reads `name` before it sets a variable of that name.
bool Mentions(const Body& body, absl::string_view name);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_MENTIONS_H_
