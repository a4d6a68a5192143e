#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/format_spec.h"
#include "strata/generate/chat/jinja/python_text.h"
#include "strata/generate/chat/jinja/text_format.h"

namespace strata::jinja {
namespace {

absl::Status TooFewValues() {
  return absl::InvalidArgumentError("a format has more places than values");
}

class PercentFormatter {
 public:
  PercentFormatter(const Value& format, const Value& values, Budget& budget)
      : format_(format), text_(format.text()), values_(values), budget_(budget) {}

  absl::StatusOr<MarkedText> Run();

 private:
  // At the character after "%".
  absl::Status WriteField();
  absl::Status ReadFlags(FormatSpec& spec);
  absl::StatusOr<int64_t> ReadNumber();
  absl::StatusOr<Value> NextValue();
  absl::Status ReadKey();
  absl::Status WriteValue(FormatSpec spec, char conversion);
  absl::Status WriteText(const Value& value, FormatSpec spec, char conversion);
  absl::Status WriteNumber(const Value& value, FormatSpec spec, char conversion);
  absl::Status WriteCharacter(const Value& value, FormatSpec spec);
  // The format ends where a field is not complete.
  absl::Status CheckMore() const;

  const Value& format_;
  const absl::string_view text_;
  const Value& values_;
  Budget& budget_;
  MarkedText out_;
  size_t at_ = 0;
  size_t num_used_ = 0;
  bool has_key_ = false;  // The field names its value, ...
  Value keyed_;           // ... which is this.
  bool used_keys_ = false;
};

absl::Status PercentFormatter::CheckMore() const {
  if (at_ < text_.size()) return absl::OkStatus();
  return absl::InvalidArgumentError("a format ends inside a field");
}

absl::StatusOr<MarkedText> PercentFormatter::Run() {
  while (at_ < text_.size()) {
    if (!budget_.Step() || !budget_.HasRoomFor(static_cast<int64_t>(out_.size()))) {
      return budget_.status();
    }
    const size_t percent = std::min(text_.find('%', at_), text_.size());
    out_.AppendPart(format_.marked_text(), at_, percent);
    at_ = percent;
    if (at_ == text_.size()) break;
    ++at_;
    RETURN_IF_ERROR(WriteField());
  }
  const bool takes_any = values_.Is(Value::Kind::kDict) || values_.Is(Value::Kind::kList) ||
                         values_.Is(Value::Kind::kRange) || values_.IsUndefined() || used_keys_;
  const size_t num_values = values_.Is(Value::Kind::kTuple) ? values_.items().size() : 1;
  if (num_used_ < num_values && !(takes_any && !values_.Is(Value::Kind::kTuple))) {
    return absl::InvalidArgumentError("a format has fewer places than values");
  }
  return std::move(out_);
}

absl::StatusOr<Value> PercentFormatter::NextValue() {
  if (has_key_) return keyed_;
  if (values_.Is(Value::Kind::kTuple)) {
    if (num_used_ == values_.items().size()) return TooFewValues();
    return values_.items()[num_used_++];
  }
  if (num_used_ == 1) return TooFewValues();
  num_used_ = 1;
  return values_;
}

absl::Status PercentFormatter::ReadKey() {
  has_key_ = false;
  if (at_ == text_.size() || text_[at_] != '(') return absl::OkStatus();
  if (!values_.Is(Value::Kind::kDict)) {
    return absl::InvalidArgumentError("a format names values and is not given a dict");
  }
  const size_t begin = ++at_;
  for (int open = 1; open > 0; ++at_) {
    RETURN_IF_ERROR(CheckMore());
    if (text_[at_] == '(') ++open;
    if (text_[at_] == ')') --open;
  }
  const absl::string_view key = text_.substr(begin, at_ - 1 - begin);
  const Value* const value = values_.dict().Find(key);
  if (value == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("no value for %(", key, ")"));
  has_key_ = used_keys_ = true;
  keyed_ = *value;
  return absl::OkStatus();
}

absl::Status PercentFormatter::ReadFlags(FormatSpec& spec) {
  bool has_zero = false;
  for (;; ++at_) {
    RETURN_IF_ERROR(CheckMore());
    if (text_[at_] == '-') {
      spec.align = '<';
    } else if (text_[at_] == '+') {
      spec.sign = '+';
    } else if (text_[at_] == ' ') {
      if (spec.sign != '+') spec.sign = ' ';
    } else if (text_[at_] == '#') {
      spec.is_alternate = true;
    } else if (text_[at_] == '0') {
      has_zero = true;
    } else {
      break;
    }
  }
  if (has_zero && spec.align == 0) {
    spec.align = '=';
    spec.fill = "0";
  }
  return absl::OkStatus();
}

// A width or a precision: digits, or "*" for the next value.
absl::StatusOr<int64_t> PercentFormatter::ReadNumber() {
  RETURN_IF_ERROR(CheckMore());
  if (text_[at_] == '*') {
    ++at_;
    ASSIGN_OR_RETURN(const Value value, NextValue());
    if (!value.IsIntegral()) return absl::InvalidArgumentError("* in a format wants an integer");
    return value.int_value();
  }
  const size_t begin = at_;
  while (at_ < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
  if (at_ == begin) return 0;
  int64_t number = 0;
  if (!absl::SimpleAtoi(text_.substr(begin, at_ - begin), &number) || number > INT32_MAX) {
    return absl::InvalidArgumentError("a number in a format is too large");
  }
  return number;
}

absl::Status PercentFormatter::WriteField() {
  FormatSpec spec;
  RETURN_IF_ERROR(ReadKey());
  RETURN_IF_ERROR(ReadFlags(spec));
  ASSIGN_OR_RETURN(spec.width, ReadNumber());
  if (spec.width < 0) {
    spec.align = '<';
    spec.fill = " ";
    spec.width = -spec.width;
  }
  RETURN_IF_ERROR(CheckMore());
  if (text_[at_] == '.') {
    ++at_;
    ASSIGN_OR_RETURN(spec.precision, ReadNumber());
    spec.precision = std::max<int64_t>(spec.precision, 0);
  }
  RETURN_IF_ERROR(CheckMore());
  if (absl::StrContains("hlL", text_.substr(at_, 1))) ++at_;
  RETURN_IF_ERROR(CheckMore());
  const char conversion = text_[at_++];
  if (conversion == '%') {
    out_.Append("%", format_.marked_text().IsContentAt(at_ - 1));
    return absl::OkStatus();
  }
  return WriteValue(spec, conversion);
}

absl::Status PercentFormatter::WriteValue(FormatSpec spec, char conversion) {
  ASSIGN_OR_RETURN(const Value value, NextValue());
  switch (conversion) {
    case 's':
    case 'r':
      return WriteText(value, spec, conversion);
    case 'c':
      return WriteCharacter(value, spec);
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      return WriteNumber(value, spec, conversion);
    default:
      return absl::InvalidArgumentError("a format has an unknown conversion");
  }
}

absl::Status PercentFormatter::WriteText(const Value& value, FormatSpec spec, char conversion) {
  MarkedText text;
  if (conversion == 'r') {
    ASSIGN_OR_RETURN(text, ReprOf(value, budget_));
  } else if (!format_.IsMarkup()) {
    ASSIGN_OR_RETURN(text, TextOf(value, budget_));
  }
  if (format_.IsMarkup()) {
    const Value plain = conversion == 'r' ? Value::String(text, &budget_) : value;
    ASSIGN_OR_RETURN(text, EscapedText(plain, budget_));
  }
  FormatSpec text_spec;
  text_spec.align = spec.align == '<' ? '<' : '>';
  text_spec.width = spec.width;
  text_spec.precision = spec.precision;
  ASSIGN_OR_RETURN(const MarkedText padded, FormatString(text, text_spec, budget_));
  out_.Append(padded);
  return absl::OkStatus();
}

absl::Status PercentFormatter::WriteCharacter(const Value& value, FormatSpec spec) {
  MarkedText text;
  if (value.IsString() && value.num_characters() == 1) {
    text = value.marked_text();
  } else if (value.IsIntegral() && value.int_value() >= 0 && value.int_value() <= 0x10FFFF &&
             (value.int_value() < 0xD800 || value.int_value() > 0xDFFF)) {
    std::string character;
    AppendUtf8(static_cast<char32_t>(value.int_value()), character);
    text.Append(character, value.is_content());
  } else {
    return absl::InvalidArgumentError("%c wants a character");
  }
  FormatSpec text_spec;
  text_spec.align = spec.align == '<' ? '<' : '>';
  text_spec.width = spec.width;
  ASSIGN_OR_RETURN(const MarkedText padded, FormatString(text, text_spec, budget_));
  out_.Append(padded);
  return absl::OkStatus();
}

absl::Status PercentFormatter::WriteNumber(const Value& value, FormatSpec spec, char conversion) {
  if (value.IsUndefined()) return absl::InvalidArgumentError(value.undefined_message());
  if (!value.IsNumber()) {
    return absl::InvalidArgumentError(
        absl::StrCat("%", std::string(1, conversion), " wants a number, not a ", TypeName(value)));
  }
  if (absl::StrContains("eEfFgG", absl::string_view(&conversion, 1))) {
    spec.type = conversion;
    ASSIGN_OR_RETURN(const MarkedText text,
                     FormatNumber(Value::Float(value.number(), value.is_content()), spec, budget_));
    out_.Append(text);
    return absl::OkStatus();
  }
  Value number = value;
  const bool is_decimal = absl::StrContains("diu", absl::string_view(&conversion, 1));
  if (value.Is(Value::Kind::kFloat)) {
    const double whole = std::trunc(value.float_value());
    if (!is_decimal || !(std::abs(whole) < 0x1p63)) {
      return absl::InvalidArgumentError("a format of integers is given a float");
    }
    number = Value::Int(static_cast<int64_t>(whole), value.is_content());
  }
  spec.type = is_decimal ? 'd' : conversion;
  const int64_t precision = spec.precision;
  spec.precision = -1;
  if (precision > 0) {
    // At least so many digits: they are written into a field of their own first.
    FormatSpec digits = spec;
    digits.align = '=';
    digits.fill = "0";
    digits.width = precision;
    const bool has_sign = number.int_value() < 0 || spec.sign != '-';
    digits.width += (has_sign ? 1 : 0) + (spec.is_alternate && !is_decimal ? 2 : 0);
    ASSIGN_OR_RETURN(const MarkedText text, FormatNumber(number, digits, budget_));
    FormatSpec padding;
    padding.align = spec.align == '<' ? '<' : '>';
    padding.width = spec.width;
    ASSIGN_OR_RETURN(const MarkedText padded, FormatString(text, padding, budget_));
    out_.Append(padded);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const MarkedText text, FormatNumber(number, spec, budget_));
  out_.Append(text);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Value> FormatPercent(const Value& format, const Value& values, Budget& budget) {
  PercentFormatter formatter(format, values, budget);
  ASSIGN_OR_RETURN(MarkedText text, formatter.Run());
  if (format.HasContent()) text = MarkedText(text.text(), true);
  return Value::StringLike(format, std::move(text), &budget);
}

}  // namespace strata::jinja
