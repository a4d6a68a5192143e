#include "strata/core/cli/printable.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace strata {
namespace {

struct Character {
  char32_t code_point;
  size_t bytes;
};

// The well-formed character at the start of `text`, which is not empty.
std::optional<Character> FirstCharacter(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return Character{lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return std::nullopt;
  char32_t code_point = lead & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    code_point = code_point << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point < kSmallest[length] || code_point > 0x10ffff || surrogate) return std::nullopt;
  return Character{code_point, length};
}

// Controls, line and paragraph separators, and marks that reorder or hide text.
bool SteersTheTerminal(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe007f);
}

std::string Escaped(char32_t c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    case '\\':
      return "\\\\";
    default:
      return c < 0x80 ? absl::StrFormat("\\x%02x", static_cast<uint32_t>(c))
                      : absl::StrFormat("\\u{%x}", static_cast<uint32_t>(c));
  }
}

}  // namespace

bool IsUtf8(absl::string_view bytes) {
  while (!bytes.empty()) {
    const std::optional<Character> character = FirstCharacter(bytes);
    if (!character.has_value()) return false;
    bytes.remove_prefix(character->bytes);
  }
  return true;
}

std::string Printable(absl::string_view bytes, size_t max_bytes) {
  std::string text;
  size_t used = 0;
  while (used < bytes.size()) {
    const absl::string_view rest = bytes.substr(used);
    const std::optional<Character> character = FirstCharacter(rest);
    const size_t length = character.has_value() ? character->bytes : 1;
    if (used + length > max_bytes) {
      absl::StrAppend(&text, "... (", bytes.size(), " bytes)");
      break;
    }
    if (!character.has_value()) {
      absl::StrAppendFormat(&text, "\\x%02x", static_cast<uint8_t>(rest[0]));
    } else if (SteersTheTerminal(character->code_point) || character->code_point == '\\') {
      text += Escaped(character->code_point);
    } else {
      absl::StrAppend(&text, rest.substr(0, length));
    }
    used += length;
  }
  return text;
}

}  // namespace strata
