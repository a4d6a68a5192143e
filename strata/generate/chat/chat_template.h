// Tells by its content which style a file's chat template writes.
//
// A template is a program in Jinja. It is never run here: it is searched for the marks of known
// formats, and a few literal texts, such as a default system message, are copied from it.
#ifndef STRATA_GENERATE_CHAT_CHAT_TEMPLATE_H_
#define STRATA_GENERATE_CHAT_CHAT_TEMPLATE_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "strata/generate/chat/chat_style.h"

namespace strata {

// The style with the template's own details; nothing if the template is of no known format.
std::optional<ChatStyle> RecognizeChatTemplate(absl::string_view chat_template);

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_CHAT_TEMPLATE_H_
