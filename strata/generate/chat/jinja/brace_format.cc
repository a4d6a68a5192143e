#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/attributes.h"
#include "strata/generate/chat/jinja/format_spec.h"
#include "strata/generate/chat/jinja/python_text.h"
#include "strata/generate/chat/jinja/text_format.h"

namespace strata::jinja {
namespace {

class BraceFormatter {
 public:
  BraceFormatter(const Value& format, const Arguments& arguments, Budget& budget)
      : arguments_(arguments), budget_(budget), is_markup_(format.IsMarkup()) {}

  // `level` counts formats inside specifications, which may be one deep.
  absl::StatusOr<MarkedText> Run(const MarkedText& format, int level);

 private:
  // The text between braces.
  absl::Status WriteField(const MarkedText& field, int level, MarkedText& out);
  absl::StatusOr<Value> Find(absl::string_view name);
  absl::StatusOr<Value> FindFirst(absl::string_view first);
  absl::StatusOr<MarkedText> Format(const Value& value, absl::string_view spec);

  const Arguments& arguments_;
  Budget& budget_;
  const bool is_markup_;
  int64_t next_automatic_ = 0;  // -1 once fields have numbers.
};

absl::StatusOr<MarkedText> BraceFormatter::Run(const MarkedText& format, int level) {
  if (level > 1) return absl::InvalidArgumentError("a format is nested too deep");
  const absl::string_view text = format.text();
  MarkedText out;
  for (size_t at = 0; at < text.size();) {
    if (!budget_.Step() || !budget_.HasRoomFor(static_cast<int64_t>(out.size()))) {
      return budget_.status();
    }
    const size_t brace = std::min(text.find_first_of("{}", at), text.size());
    out.AppendPart(format, at, brace);
    if (brace == text.size()) break;
    if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
      out.AppendPart(format, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    if (text[brace] == '}') return absl::InvalidArgumentError("a format has a single '}'");
    size_t end = brace + 1;
    for (int open = 1; open > 0; ++end) {
      if (end == text.size()) return absl::InvalidArgumentError("a format has a single '{'");
      if (text[end] == '{') ++open;
      if (text[end] == '}') --open;
    }
    RETURN_IF_ERROR(WriteField(format.Part(brace + 1, end - 1), level, out));
    at = end;
  }
  return out;
}

absl::Status BraceFormatter::WriteField(const MarkedText& field, int level, MarkedText& out) {
  const absl::string_view text = field.text();
  // A ":" or "!" inside brackets belongs to the name.
  size_t name_end = 0;
  int brackets = 0;
  for (; name_end < text.size(); ++name_end) {
    if (text[name_end] == '[') ++brackets;
    if (text[name_end] == ']') --brackets;
    if (brackets <= 0 && (text[name_end] == ':' || text[name_end] == '!')) break;
  }
  char conversion = 0;
  size_t spec_begin = name_end;
  if (name_end < text.size() && text[name_end] == '!') {
    if (name_end + 1 >= text.size()) return absl::InvalidArgumentError("a format ends after '!'");
    conversion = text[name_end + 1];
    spec_begin = name_end + 2;
    if (spec_begin < text.size() && text[spec_begin] != ':') {
      return absl::InvalidArgumentError("a format has a conversion of several letters");
    }
  }
  ASSIGN_OR_RETURN(Value value, Find(text.substr(0, name_end)));
  MarkedText spec;
  if (spec_begin < text.size()) {
    ASSIGN_OR_RETURN(spec, Run(field.Part(spec_begin + 1, text.size()), level + 1));
  }
  if (conversion == 's') {
    ASSIGN_OR_RETURN(MarkedText converted, TextOf(value, budget_));
    value = Value::String(std::move(converted), &budget_);
  } else if (conversion == 'r') {
    ASSIGN_OR_RETURN(MarkedText converted, ReprOf(value, budget_));
    value = Value::String(std::move(converted), &budget_);
  } else if (conversion != 0) {
    return absl::InvalidArgumentError("a format has an unknown conversion");
  }
  ASSIGN_OR_RETURN(MarkedText formatted, Format(value, spec.text()));
  if (spec.HasContent()) formatted = MarkedText(formatted.text(), true);
  if (is_markup_ && !value.IsMarkup()) {
    ASSIGN_OR_RETURN(formatted,
                     EscapedText(Value::String(std::move(formatted), &budget_), budget_));
  }
  out.Append(formatted);
  return absl::OkStatus();
}

absl::StatusOr<Value> BraceFormatter::FindFirst(absl::string_view first) {
  int64_t number = 0;
  const bool is_number = !first.empty() && std::all_of(first.begin(), first.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  if (first.empty()) {
    if (next_automatic_ < 0) {
      return absl::InvalidArgumentError("a format has fields with numbers and without");
    }
    number = next_automatic_++;
  } else if (is_number) {
    if (next_automatic_ > 0 || !absl::SimpleAtoi(first, &number)) {
      return absl::InvalidArgumentError("a format has fields with numbers and without");
    }
    next_automatic_ = -1;
  } else {
    for (const auto& [name, value] : arguments_.named) {
      if (name == first) return value;
    }
    return absl::InvalidArgumentError(absl::StrCat("a format is not given '", first, "'"));
  }
  if (number >= static_cast<int64_t>(arguments_.positional.size())) {
    return absl::InvalidArgumentError("a format has more fields than values");
  }
  return arguments_.positional[static_cast<size_t>(number)];
}

absl::StatusOr<Value> BraceFormatter::Find(absl::string_view name) {
  const size_t first_end = std::min(name.find_first_of(".["), name.size());
  ASSIGN_OR_RETURN(Value value, FindFirst(name.substr(0, first_end)));
  name.remove_prefix(first_end);
  while (!name.empty()) {
    if (name[0] == '.') {
      const size_t end = std::min(name.find_first_of(".[", 1), name.size());
      const absl::string_view attribute = name.substr(1, end - 1);
      if (attribute.empty()) return absl::InvalidArgumentError("a format has an empty attribute");
      ASSIGN_OR_RETURN(value, GetAttribute(value, attribute, budget_));
      name.remove_prefix(end);
      continue;
    }
    const size_t end = name[0] == '[' ? name.find(']') : absl::string_view::npos;
    if (end == absl::string_view::npos || end == 1) {
      return absl::InvalidArgumentError("a format has a malformed field");
    }
    const absl::string_view key = name.substr(1, end - 1);
    int64_t index = 0;
    const bool is_index =
        absl::ascii_isdigit(static_cast<unsigned char>(key[0])) && absl::SimpleAtoi(key, &index);
    ASSIGN_OR_RETURN(value,
                     GetItem(value, is_index ? Value::Int(index) : Value::String(key), budget_));
    name.remove_prefix(end + 1);
  }
  return value;
}

absl::StatusOr<MarkedText> BraceFormatter::Format(const Value& value, absl::string_view spec) {
  if (spec.empty()) return TextOf(value, budget_);
  ASSIGN_OR_RETURN(FormatSpec parsed, ParseFormatSpec(spec));
  if (value.IsString()) return FormatString(value.marked_text(), parsed, budget_);
  if (value.Is(Value::Kind::kBool)) {
    return FormatNumber(Value::Int(value.int_value(), value.is_content()), parsed, budget_);
  }
  if (value.IsNumber()) return FormatNumber(value, parsed, budget_);
  return absl::InvalidArgumentError(
      absl::StrCat("a ", TypeName(value), " cannot be formatted with '", spec, "'"));
}

}  // namespace

absl::StatusOr<Value> FormatBraces(const Value& format, const Arguments& arguments,
                                   Budget& budget) {
  BraceFormatter formatter(format, arguments, budget);
  ASSIGN_OR_RETURN(MarkedText text, formatter.Run(format.marked_text(), 0));
  if (format.HasContent()) text = MarkedText(text.text(), true);
  return Value::StringLike(format, std::move(text), &budget);
}

absl::StatusOr<MarkedText> EscapedText(const Value& value, Budget& budget) {
  ASSIGN_OR_RETURN(const MarkedText text, TextOf(value, budget));
  if (value.IsMarkup()) return text;
  MarkedText escaped;
  size_t plain = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    absl::string_view entity;
    switch (text.text()[at]) {
      case '&':
        entity = "&amp;";
        break;
      case '<':
        entity = "&lt;";
        break;
      case '>':
        entity = "&gt;";
        break;
      case '"':
        entity = "&#34;";
        break;
      case '\'':
        entity = "&#39;";
        break;
      default:
        continue;
    }
    escaped.AppendPart(text, plain, at);
    escaped.Append(entity, text.IsContentAt(at));
    plain = at + 1;
  }
  escaped.AppendPart(text, plain, text.size());
  return escaped;
}

}  // namespace strata::jinja
