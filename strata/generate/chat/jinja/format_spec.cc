#include "strata/generate/chat/jinja/format_spec.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/python_text.h"

namespace strata::jinja {
namespace {

constexpr int64_t kMaxPrecision = 1000;

// Digits at the start of `text`, which are taken from it; -1 if there are none.
absl::StatusOr<int64_t> TakeNumber(absl::string_view& text) {
  size_t size = 0;
  while (size < text.size() && absl::ascii_isdigit(text[size])) ++size;
  if (size == 0) return -1;
  int64_t number = 0;
  if (!absl::SimpleAtoi(text.substr(0, size), &number) || number > INT32_MAX) {
    return absl::InvalidArgumentError("a number in a format is too large");
  }
  text.remove_prefix(size);
  return number;
}

bool IsAlign(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// The digits of `magnitude` in `base`.
std::string Digits(uint64_t magnitude, int base, bool is_upper) {
  std::string digits;
  do {
    const auto digit = static_cast<char>(magnitude % static_cast<uint64_t>(base));
    digits.push_back(
        static_cast<char>(digit < 10 ? '0' + digit : (is_upper ? 'A' : 'a') + digit - 10));
    magnitude /= static_cast<uint64_t>(base);
  } while (magnitude != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// `digits` may go on with a fraction or an exponent, which stays as it is.
std::string Grouped(const std::string& digits, char separator, size_t group) {
  size_t size = 0;
  while (size < digits.size() && absl::ascii_isxdigit(digits[size]) &&
         (group == 4 || absl::ascii_isdigit(digits[size]))) {
    ++size;
  }
  std::string grouped;
  for (size_t i = 0; i < size; ++i) {
    if (i > 0 && (size - i) % group == 0) grouped.push_back(separator);
    grouped.push_back(digits[i]);
  }
  return grouped + digits.substr(size);
}

// Puts `body` into the width, between `sign` and it if the alignment says so.
absl::StatusOr<MarkedText> Pad(const std::string& sign, const MarkedText& body,
                               const FormatSpec& spec, char default_align, bool is_content,
                               Budget& budget) {
  const auto num_characters = static_cast<int64_t>(CharactersOf(body.text()).size() + sign.size());
  const int64_t missing = std::max<int64_t>(0, spec.width - num_characters);
  if (!budget.HasRoomFor(missing * static_cast<int64_t>(spec.fill.size()))) return budget.status();
  const char align = spec.align == 0 ? default_align : spec.align;
  int64_t before = 0;
  if (align == '>' || align == '=') before = missing;
  if (align == '^') before = missing / 2;
  MarkedText padded;
  if (align == '=') padded.Append(sign, is_content);
  for (int64_t i = 0; i < before; ++i) padded.Append(spec.fill, false);
  if (align != '=') padded.Append(sign, is_content);
  padded.Append(body);
  for (int64_t i = before; i < missing; ++i) padded.Append(spec.fill, false);
  return padded;
}

// The digits; with the alternate form `prefix` says which base they are in.
absl::StatusOr<std::string> IntegerBody(uint64_t magnitude, const FormatSpec& spec,
                                        std::string& prefix) {
  int base = 10;
  switch (spec.type) {
    case 0:
    case 'd':
    case 'n':
      break;
    case 'x':
    case 'X':
      base = 16;
      prefix = spec.type == 'x' ? "0x" : "0X";
      break;
    case 'o':
      base = 8;
      prefix = "0o";
      break;
    case 'b':
      base = 2;
      prefix = "0b";
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("unknown format '", std::string(1, spec.type), "' for an integer"));
  }
  std::string digits = Digits(magnitude, base, spec.type == 'X');
  if (spec.grouping != 0) digits = Grouped(digits, spec.grouping, base == 10 ? 3 : 4);
  if (!spec.is_alternate) prefix.clear();
  return digits;
}

// "1e5" has no point; the alternate form has one.
std::string WithPoint(std::string digits) {
  if (digits.find('.') != std::string::npos) return digits;
  const size_t exponent = digits.find_first_of("eE");
  digits.insert(exponent == std::string::npos ? digits.size() : exponent, ".");
  return digits;
}

absl::StatusOr<std::string> FloatBody(double magnitude, const FormatSpec& spec) {
  if (spec.precision > kMaxPrecision) {
    return absl::InvalidArgumentError("a format's precision is too large");
  }
  const auto precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  const bool is_upper = absl::ascii_isupper(static_cast<unsigned char>(spec.type));
  std::string digits;
  if (std::isnan(magnitude) || std::isinf(magnitude)) {
    digits = std::isnan(magnitude) ? "nan" : "inf";
    if (spec.type == '%') digits += "%";
    return is_upper ? absl::AsciiStrToUpper(digits) : digits;
  }
  switch (absl::ascii_tolower(static_cast<unsigned char>(spec.type))) {
    case 0:
      if (spec.precision < 0) {
        digits = FloatText(magnitude);
      } else {
        digits = absl::StrFormat("%.*g", std::max(precision, 1), magnitude);
        if (digits.find_first_of(".e") == std::string::npos &&
            static_cast<int>(digits.size()) < std::max(precision, 1)) {
          digits += ".0";
        }
      }
      break;
    case 'e':
      digits = absl::StrFormat("%.*e", precision, magnitude);
      break;
    case 'f':
      digits = absl::StrFormat("%.*f", precision, magnitude);
      break;
    case 'g':
    case 'n':
      digits = spec.is_alternate ? absl::StrFormat("%#.*g", std::max(precision, 1), magnitude)
                                 : absl::StrFormat("%.*g", std::max(precision, 1), magnitude);
      break;
    case '%':
      digits = absl::StrFormat("%.*f", precision, magnitude * 100);
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("unknown format '", std::string(1, spec.type), "' for a float"));
  }
  if (spec.is_alternate) digits = WithPoint(std::move(digits));
  if (spec.type == '%') digits += "%";
  if (spec.grouping != 0) digits = Grouped(digits, spec.grouping, 3);
  return is_upper ? absl::AsciiStrToUpper(digits) : digits;
}

}  // namespace

absl::StatusOr<FormatSpec> ParseFormatSpec(absl::string_view text) {
  FormatSpec spec;
  if (!text.empty()) {
    const Character first = CharacterAt(text, 0);
    if (first.end < text.size() && IsAlign(text[first.end])) {
      spec.fill = std::string(text.substr(0, first.end));
      spec.align = text[first.end];
      text.remove_prefix(first.end + 1);
    } else if (IsAlign(text[0])) {
      spec.align = text[0];
      text.remove_prefix(1);
    }
  }
  if (!text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ')) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  if (absl::ConsumePrefix(&text, "#")) spec.is_alternate = true;
  if (absl::StartsWith(text, "0")) {
    if (spec.align == 0) {
      spec.align = '=';
      spec.fill = "0";
    }
    text.remove_prefix(1);
  }
  ASSIGN_OR_RETURN(const int64_t width, TakeNumber(text));
  spec.width = std::max<int64_t>(width, 0);
  if (!text.empty() && (text[0] == ',' || text[0] == '_')) {
    spec.grouping = text[0];
    text.remove_prefix(1);
  }
  if (absl::ConsumePrefix(&text, ".")) {
    ASSIGN_OR_RETURN(spec.precision, TakeNumber(text));
    if (spec.precision < 0) return absl::InvalidArgumentError("a format lacks its precision");
  }
  if (text.size() > 1) return absl::InvalidArgumentError("a format goes on after its type");
  if (!text.empty()) spec.type = text[0];
  return spec;
}

absl::StatusOr<MarkedText> FormatNumber(const Value& value, const FormatSpec& spec,
                                        Budget& budget) {
  const bool is_float =
      value.Is(Value::Kind::kFloat) ||
      (spec.type != 0 && absl::StrContains("eEfFgG%", absl::string_view(&spec.type, 1)));
  const bool is_negative = is_float ? std::signbit(value.number()) && !std::isnan(value.number())
                                    : value.int_value() < 0;
  std::string body;
  std::string prefix;
  if (is_float) {
    ASSIGN_OR_RETURN(body, FloatBody(std::abs(value.number()), spec));
  } else {
    if (spec.precision >= 0) {
      return absl::InvalidArgumentError("an integer's format has a precision");
    }
    const auto bits = static_cast<uint64_t>(value.int_value());
    ASSIGN_OR_RETURN(body, IntegerBody(is_negative ? 0 - bits : bits, spec, prefix));
  }
  const std::string sign = is_negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  return Pad(sign + prefix, MarkedText(body, value.is_content()), spec, '>', value.is_content(),
             budget);
}

absl::StatusOr<MarkedText> FormatString(const MarkedText& text, const FormatSpec& spec,
                                        Budget& budget) {
  if ((spec.type != 0 && spec.type != 's') || spec.sign != '-' || spec.is_alternate ||
      spec.grouping != 0 || (spec.align == '=' && spec.fill != "0")) {
    return absl::InvalidArgumentError("a string's format is one of numbers");
  }
  FormatSpec padding = spec;
  if (padding.align == '=') padding.align = '<';
  const MarkedText cut = spec.precision < 0 ? text : FirstCharacters(text, spec.precision);
  return Pad("", cut, padding, '<', false, budget);
}

MarkedText FirstCharacters(const MarkedText& text, int64_t num_characters) {
  size_t end = 0;
  for (int64_t i = 0; i < num_characters && end < text.size(); ++i) {
    end = CharacterAt(text.text(), end).end;
  }
  return text.Part(0, end);
}

}  // namespace strata::jinja
