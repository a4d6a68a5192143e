// UTF-8 as it arrives in files: maybe not UTF-8 at all, maybe meant to confuse a terminal.
#ifndef STRATA_CORE_UTF8_H_
#define STRATA_CORE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace strata {

// Bytes of the character that `text` begins with: 1 to 4, or 0 when `text` is empty or begins with
// no well-formed character (over-long forms, surrogates and values past U+10FFFF are none).
size_t Utf8CharacterBytes(absl::string_view text);

bool IsUtf8(absl::string_view text);

// `text` on one line, safe to print: control and direction-changing characters and bytes that are
// no UTF-8 become escapes (\n, \x1b, \u202e), a backslash is doubled. Past `max_bytes` of the
// result the rest is left out and "..." ends it.
std::string Printable(absl::string_view text, size_t max_bytes);

}  // namespace strata

#endif  // STRATA_CORE_UTF8_H_
