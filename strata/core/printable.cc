#include "strata/core/printable.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/utf8.h"

namespace strata {
namespace {

// Characters that move the cursor, end the line, or turn the direction of what follows.
bool ConfusesATerminal(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string Escaped(char32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return code < 0x100
                 ? absl::StrCat("\\x", absl::Hex(static_cast<uint32_t>(code), absl::kZeroPad2))
                 : absl::StrCat("\\u", absl::Hex(static_cast<uint32_t>(code), absl::kZeroPad4));
  }
}

size_t BytesOf(const Utf8Character& character) {
  return character.status == Utf8Character::Status::kWellFormed ? character.num_bytes : 1;
}

// How a character, or a byte that belongs to none, is shown.
std::string Shown(absl::string_view text, const Utf8Character& character) {
  if (character.status != Utf8Character::Status::kWellFormed) {
    return absl::StrCat("\\x", absl::Hex(static_cast<uint8_t>(text[0]), absl::kZeroPad2));
  }
  if (ConfusesATerminal(character.code_point)) return Escaped(character.code_point);
  return std::string(text.substr(0, character.num_bytes));
}

}  // namespace

std::string Printable(absl::string_view text, size_t max_bytes) {
  std::string printable;
  while (!text.empty()) {
    const Utf8Character character = FirstUtf8Character(text);
    const std::string shown = text[0] == '\\' ? "\\\\" : Shown(text, character);
    if (printable.size() + shown.size() > max_bytes) return printable + "...";
    printable += shown;
    text.remove_prefix(BytesOf(character));
  }
  return printable;
}

std::string WithoutControls(absl::string_view message) {
  std::string safe;
  while (!message.empty()) {
    const Utf8Character character = FirstUtf8Character(message);
    safe += Shown(message, character);
    message.remove_prefix(BytesOf(character));
  }
  return safe;
}

}  // namespace strata
