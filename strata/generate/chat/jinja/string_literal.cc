#include "strata/generate/chat/jinja/string_literal.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"

namespace strata::jinja {
namespace {

// Takes `num_digits` hexadecimal digits.
absl::StatusOr<uint32_t> TakeHex(absl::string_view& text, size_t num_digits) {
  if (text.size() < num_digits) return absl::InvalidArgumentError("an escape is cut short");
  uint32_t value = 0;
  for (size_t i = 0; i < num_digits; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (!absl::ascii_isxdigit(byte)) return absl::InvalidArgumentError("an escape is cut short");
    value = value * 16 + static_cast<uint32_t>(absl::ascii_isdigit(byte)
                                                   ? byte - '0'
                                                   : absl::ascii_tolower(byte) - 'a' + 10);
  }
  text.remove_prefix(num_digits);
  return value;
}

absl::Status AppendCodePoint(uint32_t value, std::string& out) {
  if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
    return absl::InvalidArgumentError("an escape is no character");
  }
  AppendUtf8(static_cast<char32_t>(value), out);
  return absl::OkStatus();
}

// `text` starts after the backslash and `letter`.
absl::Status AppendEscape(char letter, absl::string_view& text, std::string& out) {
  switch (letter) {
    case '\n':
      return absl::OkStatus();
    case 'a':
      out.push_back('\a');
      return absl::OkStatus();
    case 'b':
      out.push_back('\b');
      return absl::OkStatus();
    case 'f':
      out.push_back('\f');
      return absl::OkStatus();
    case 'n':
      out.push_back('\n');
      return absl::OkStatus();
    case 'r':
      out.push_back('\r');
      return absl::OkStatus();
    case 't':
      out.push_back('\t');
      return absl::OkStatus();
    case 'v':
      out.push_back('\v');
      return absl::OkStatus();
    case '\\':
    case '\'':
    case '"':
      out.push_back(letter);
      return absl::OkStatus();
    case 'x':
    case 'u':
    case 'U': {
      ASSIGN_OR_RETURN(const uint32_t value, TakeHex(text, letter == 'x'   ? 2
                                                           : letter == 'u' ? 4
                                                                           : 8));
      return AppendCodePoint(value, out);
    }
    case 'N':
      return absl::InvalidArgumentError("escapes by a character's name are not known");
    default:
      out.push_back('\\');
      out.push_back(letter);
      return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<std::string> UnescapeLiteral(absl::string_view literal) {
  std::string out;
  while (!literal.empty()) {
    const char c = literal[0];
    literal.remove_prefix(1);
    if (c != '\\') {
      out.push_back(c);
      continue;
    }
    if (literal.empty()) return absl::InvalidArgumentError("a text ends in a backslash");
    const char letter = literal[0];
    if (letter < '0' || letter > '7') {
      literal.remove_prefix(1);
      RETURN_IF_ERROR(AppendEscape(letter, literal, out));
      continue;
    }
    uint32_t value = 0;
    for (int i = 0; i < 3 && !literal.empty() && literal[0] >= '0' && literal[0] <= '7'; ++i) {
      value = value * 8 + static_cast<uint32_t>(literal[0] - '0');
      literal.remove_prefix(1);
    }
    RETURN_IF_ERROR(AppendCodePoint(value, out));
  }
  return out;
}

}  // namespace strata::jinja
