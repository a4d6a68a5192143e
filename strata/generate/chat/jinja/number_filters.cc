#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/filter_functions.h"
#include "strata/generate/chat/jinja/operators.h"

namespace strata::jinja {
namespace {

// What int() and float() read of a text: no space around it, digits of any script as ASCII,
// single underscores between digits left out. Nothing if there are others.
absl::optional<std::string> PlainNumber(absl::string_view text) {
  const size_t begin = SkipSpace(text, 0);
  text = text.substr(begin, std::max(begin, SkipSpaceBackwards(text, text.size())) - begin);
  std::string plain;
  bool after_digit = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    at = character.end;
    if (character.code_point == '_') {
      const bool before_digit =
          at < text.size() && absl::ascii_isalnum(static_cast<unsigned char>(text[at]));
      if (!after_digit || !before_digit) return absl::nullopt;
      after_digit = false;
      continue;
    }
    if (character.code_point >= 0x80) {
      if (!IsDecimal(character.code_point)) return absl::nullopt;
      plain.push_back(static_cast<char>('0' + DigitValue(character.code_point)));
    } else {
      plain.push_back(static_cast<char>(character.code_point));
    }
    after_digit = absl::ascii_isalnum(static_cast<unsigned char>(plain.back()));
  }
  return plain;
}

// float(text).
// Reading a number goes over its text several times.
void HandleDigits(const Value& text, Budget& budget) {
  budget.HandleBytes(8 * static_cast<int64_t>(text.text().size()));
}

absl::optional<double> ReadFloat(absl::string_view text) {
  const absl::optional<std::string> plain = PlainNumber(text);
  if (!plain.has_value() || plain->empty()) return absl::nullopt;
  // SimpleAtod also reads hexadecimal numbers, which float() does not.
  std::string lower = absl::AsciiStrToLower(*plain);
  if (lower.find('x') != std::string::npos || lower.find('(') != std::string::npos) {
    return absl::nullopt;
  }
  double number = 0;
  if (!absl::SimpleAtod(lower, &number)) return absl::nullopt;
  return number;
}

// int(text, base): a missing number for a malformed one, an error for one of more than 64 bits.
absl::StatusOr<Value> ReadInt(absl::string_view text, int64_t base, bool is_content) {
  const absl::optional<std::string> plain = PlainNumber(text);
  if (!plain.has_value()) return Value();
  absl::string_view digits = *plain;
  bool is_negative = false;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    is_negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  const char prefix = digits.size() > 2 && digits[0] == '0'
                          ? absl::ascii_tolower(static_cast<unsigned char>(digits[1]))
                          : '\0';
  const int64_t prefix_base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
  if (prefix_base != 0 && (base == 0 || base == prefix_base)) {
    digits.remove_prefix(2);
    base = prefix_base;
  } else if (base == 0) {
    // Zeros at the start are for prefixes alone.
    if (digits.size() > 1 && digits[0] == '0' &&
        digits.find_first_not_of('0') != absl::string_view::npos) {
      return Value();
    }
    base = 10;
  }
  if (digits.empty()) return Value();
  int64_t number = 0;
  for (const char c : digits) {
    const auto byte = static_cast<unsigned char>(c);
    int64_t digit = 99;
    if (absl::ascii_isdigit(byte)) digit = c - '0';
    if (absl::ascii_isalpha(byte)) digit = absl::ascii_tolower(byte) - 'a' + 10;
    if (digit >= base) return Value();
    if (__builtin_mul_overflow(number, base, &number) ||
        __builtin_add_overflow(number, is_negative ? -digit : digit, &number)) {
      return absl::InvalidArgumentError("an integer does not fit into 64 bits");
    }
  }
  return Value::Int(number, is_content);
}

absl::StatusOr<Value> Truncated(double number, bool is_content) {
  if (std::isnan(number)) return Value();
  if (!(std::abs(number) < 0x1p63)) {
    return absl::InvalidArgumentError("an integer does not fit into 64 bits");
  }
  return Value::Int(static_cast<int64_t>(number), is_content);
}

}  // namespace

absl::StatusOr<Value> AbsFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  ASSIGN_OR_RETURN(const Value number, Plus(call.input));
  return number.number() < 0 || std::signbit(number.number()) ? Negate(number) : number;
}

absl::StatusOr<Value> IntFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"default", "base"}));
  const Value& input = call.input;
  const Value otherwise = bound[0].IsMissing() ? Value::Int(0) : bound[0];
  const bool is_content = input.HasContent();
  if (input.IsUndefined()) return absl::InvalidArgumentError(input.undefined_message());
  if (input.IsIntegral()) return Value::Int(input.int_value(), is_content);
  Value number;
  if (input.Is(Value::Kind::kFloat)) {
    ASSIGN_OR_RETURN(number, Truncated(input.float_value(), is_content));
  } else if (input.IsString()) {
    HandleDigits(input, call.budget);
    ASSIGN_OR_RETURN(const int64_t base, IntOr(bound[1], 10, "int's base"));
    if (base == 0 || (base >= 2 && base <= 36)) {
      ASSIGN_OR_RETURN(number, ReadInt(input.text(), base, is_content));
    }
    const absl::optional<double> real = ReadFloat(input.text());
    if (number.IsMissing() && real.has_value()) {
      ASSIGN_OR_RETURN(number, Truncated(*real, is_content));
    }
  }
  return number.IsMissing() ? otherwise : number;
}

absl::StatusOr<Value> FloatFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"default"}));
  const Value& input = call.input;
  if (input.IsUndefined()) return absl::InvalidArgumentError(input.undefined_message());
  if (input.IsNumber()) return Value::Float(input.number(), input.is_content());
  if (input.IsString()) {
    HandleDigits(input, call.budget);
    if (const absl::optional<double> number = ReadFloat(input.text())) {
      return Value::Float(*number, input.HasContent());
    }
  }
  return bound[0].IsMissing() ? Value::Float(0) : bound[0];
}

absl::StatusOr<Value> RoundFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"precision", "method"}));
  if (bound[0].IsNone()) return absl::InvalidArgumentError("round's precision is none");
  ASSIGN_OR_RETURN(const int64_t precision, IntOr(bound[0], 0, "round's precision"));
  const std::string method = bound[1].IsMissing()  ? "common"
                             : bound[1].IsString() ? bound[1].text()
                                                   : "";
  if (method != "common" && method != "ceil" && method != "floor") {
    return absl::InvalidArgumentError("round's method is none of common, ceil and floor");
  }
  const Value& input = call.input;
  if (input.IsUndefined()) return absl::InvalidArgumentError(input.undefined_message());
  if (!input.IsNumber()) {
    return absl::InvalidArgumentError(absl::StrCat("round is given a ", TypeName(input)));
  }
  if (precision < -300 || precision > 300) {
    return absl::InvalidArgumentError("round's precision is out of range");
  }
  const double number = input.number();
  if (method == "common") {
    if (input.IsIntegral() && precision >= 0)
      return Value::Int(input.int_value(), input.is_content());
    if (!std::isfinite(number)) return input;
    if (precision >= 0) {
      // The nearest decimal number of so many digits, half to even of the exact value.
      const std::string digits = absl::StrFormat("%.*f", static_cast<int>(precision), number);
      return Value::Float(std::strtod(digits.c_str(), nullptr), input.is_content());
    }
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    const double rounded = std::nearbyint(number / scale) * scale;
    if (input.IsIntegral()) {
      if (!(std::abs(rounded) < 0x1p53)) return absl::InvalidArgumentError("round: too large");
      return Value::Int(static_cast<int64_t>(rounded), input.is_content());
    }
    return Value::Float(rounded, input.is_content());
  }
  if (!std::isfinite(number)) return absl::InvalidArgumentError("round of no finite number");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = number * scale;
  return Value::Float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale,
                      input.is_content());
}

}  // namespace strata::jinja
