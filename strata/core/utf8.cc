#include "strata/core/utf8.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace strata {
namespace {

uint8_t ByteAt(absl::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

// What the second byte may be, by the first: the ranges of the Unicode standard's table 3-7.
bool IsSecondByte(uint8_t first, uint8_t second) {
  switch (first) {
    case 0xe0:
      return second >= 0xa0 && second <= 0xbf;
    case 0xed:
      return second >= 0x80 && second <= 0x9f;
    case 0xf0:
      return second >= 0x90 && second <= 0xbf;
    case 0xf4:
      return second >= 0x80 && second <= 0x8f;
    default:
      return second >= 0x80 && second <= 0xbf;
  }
}

// The code point of a well-formed character.
uint32_t CodePoint(absl::string_view character) {
  if (character.size() == 1) return ByteAt(character, 0);
  uint32_t code = ByteAt(character, 0) & (0x7fu >> character.size());
  for (size_t i = 1; i < character.size(); ++i) code = code << 6 | (ByteAt(character, i) & 0x3fu);
  return code;
}

// Characters that move the cursor, end the line, or turn the direction of what follows.
bool ConfusesATerminal(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string Escaped(uint32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return code < 0x100 ? absl::StrCat("\\x", absl::Hex(code, absl::kZeroPad2))
                          : absl::StrCat("\\u", absl::Hex(code, absl::kZeroPad4));
  }
}

}  // namespace

size_t Utf8CharacterBytes(absl::string_view text) {
  if (text.empty()) return 0;
  const uint8_t first = ByteAt(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < bytes || !IsSecondByte(first, ByteAt(text, 1))) return 0;
  for (size_t i = 2; i < bytes; ++i) {
    if ((ByteAt(text, i) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t bytes = Utf8CharacterBytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string Printable(absl::string_view text, size_t max_bytes) {
  std::string printable;
  while (!text.empty()) {
    const size_t bytes = Utf8CharacterBytes(text);
    std::string shown;
    if (bytes == 0) {
      shown = absl::StrCat("\\x", absl::Hex(ByteAt(text, 0), absl::kZeroPad2));
    } else if (text[0] == '\\') {
      shown = "\\\\";
    } else if (const uint32_t code = CodePoint(text.substr(0, bytes)); ConfusesATerminal(code)) {
      shown = Escaped(code);
    } else {
      shown = std::string(text.substr(0, bytes));
    }
    if (printable.size() + shown.size() > max_bytes) return printable + "...";
    printable += shown;
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return printable;
}

}  // namespace strata
