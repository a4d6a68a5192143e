// Text from files, made safe for a terminal.
#ifndef STRATA_CORE_PRINTABLE_H_
#define STRATA_CORE_PRINTABLE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace strata {

// `text` on one line, safe to print: control and direction-changing characters and bytes that are
// no UTF-8 become escapes (\n, \x1b, \u202e), a backslash is doubled. Past `max_bytes` of the
// result the rest is left out and "..." ends it.
std::string Printable(absl::string_view text, size_t max_bytes);

// The same of a message that may quote Printable text: backslashes stay, and nothing is cut.
std::string WithoutControls(absl::string_view message);

}  // namespace strata

#endif  // STRATA_CORE_PRINTABLE_H_
