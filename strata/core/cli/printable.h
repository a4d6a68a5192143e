// Text from files made safe for a terminal.
#ifndef STRATA_CORE_CLI_PRINTABLE_H_
#define STRATA_CORE_CLI_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace strata {

// True when `bytes` is well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates).
bool IsUtf8(absl::string_view bytes);

// `bytes` on one line: control characters, backslashes, characters that steer the terminal or the
// direction of text, and bytes that are not UTF-8 are escaped (\n, \t, \x1b, \u{202e}, \xff). More
// than `max_bytes` are cut, at a character's border, with "... (N bytes)" behind.
std::string Printable(absl::string_view bytes, size_t max_bytes = 200);

}  // namespace strata

#endif  // STRATA_CORE_CLI_PRINTABLE_H_
