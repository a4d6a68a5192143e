#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/filter_functions.h"
#include "strata/generate/chat/jinja/format_spec.h"
#include "strata/generate/chat/jinja/json_dump.h"
#include "strata/generate/chat/jinja/methods.h"
#include "strata/generate/chat/jinja/operators.h"
#include "strata/generate/chat/jinja/python_text.h"
#include "strata/generate/chat/jinja/string_search.h"
#include "strata/generate/chat/jinja/text_format.h"

namespace strata::jinja {

absl::StatusOr<Value> CaseFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const Value text, SoftString(call.input, call.budget));
  return CallStringMethod(text, call.name, call.arguments, call.budget);
}

absl::StatusOr<Value> CenterFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"width"}));
  ASSIGN_OR_RETURN(const Value text, SoftString(call.input, call.budget));
  Arguments width;
  width.positional.push_back(bound[0].IsMissing() ? Value::Int(80) : bound[0]);
  return CallStringMethod(text, "center", width, call.budget);
}

absl::StatusOr<Value> EscapeFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  ASSIGN_OR_RETURN(MarkedText text, EscapedText(call.input, call.budget));
  return Value::Markup(std::move(text), &call.budget);
}

absl::StatusOr<Value> ForceEscapeFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  ASSIGN_OR_RETURN(MarkedText text, TextOf(call.input, call.budget));
  ASSIGN_OR_RETURN(text, EscapedText(Value::String(std::move(text), &call.budget), call.budget));
  return Value::Markup(std::move(text), &call.budget);
}

absl::StatusOr<Value> FormatFilter(const FilterCall& call) {
  const Arguments& arguments = call.arguments;
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    return absl::InvalidArgumentError("format takes positional or named arguments, not both");
  }
  ASSIGN_OR_RETURN(const Value text, SoftString(call.input, call.budget));
  if (arguments.named.empty()) {
    return FormatPercent(text, Value::Tuple(arguments.positional, &call.budget), call.budget);
  }
  Dict values;
  for (const auto& [name, value] : arguments.named) values.Set(name, value);
  return FormatPercent(text, Value::DictOf(std::move(values), &call.budget), call.budget);
}

absl::StatusOr<Value> IndentFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"width", "first", "blank"}));
  if (!call.input.IsString()) {
    return absl::InvalidArgumentError(absl::StrCat("indent is given a ", TypeName(call.input)));
  }
  MarkedText indention;
  if (bound[0].IsString()) {
    indention = bound[0].marked_text();
  } else {
    if (bound[0].IsNone()) return absl::InvalidArgumentError("indent's width is none");
    ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[0], 4, "indent's width"));
    if (!call.budget.HasRoomFor(width)) return call.budget.status();
    indention.Append(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), false);
  }
  const bool indents_blank = IsTrue(bound[2]);
  MarkedText text = call.input.marked_text();
  text.Append("\n", false);  // So that the last line counts if it is empty.
  MarkedText out;
  if (IsTrue(bound[1])) out.Append(indention);
  bool is_first = true;
  for (const MarkedText& line : SplitLines(text, false)) {
    if (!call.budget.HasRoomFor(static_cast<int64_t>(out.bytes() + indention.bytes()))) {
      return call.budget.status();
    }
    if (!is_first) {
      out.Append("\n", false);
      if (indents_blank || !line.empty()) out.Append(indention);
    }
    out.Append(line);
    is_first = false;
  }
  return Value::StringLike(call.input, std::move(out), &call.budget);
}

absl::StatusOr<Value> ReplaceFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"old", "new", "count"}, 2));
  ASSIGN_OR_RETURN(const MarkedText text, TextOf(call.input, call.budget));
  ASSIGN_OR_RETURN(const MarkedText from, TextOf(bound[0], call.budget));
  ASSIGN_OR_RETURN(const MarkedText to, TextOf(bound[1], call.budget));
  ASSIGN_OR_RETURN(const int64_t count, IntOr(bound[2], -1, "replace's count"));
  ASSIGN_OR_RETURN(MarkedText replaced, Replace(text, from.text(), to, count, call.budget));
  return Value::String(std::move(replaced), &call.budget);
}

absl::StatusOr<Value> SafeFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  ASSIGN_OR_RETURN(MarkedText text, TextOf(call.input, call.budget));
  return Value::Markup(std::move(text), &call.budget);
}

absl::StatusOr<Value> StringFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  return SoftString(call.input, call.budget);
}

absl::StatusOr<Value> TitleFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  ASSIGN_OR_RETURN(const MarkedText text, TextOf(call.input, call.budget));
  const auto separates = [](const Character& character) {
    constexpr absl::string_view kSeparators = "-({[<";
    const char32_t c = character.code_point;
    return IsSpace(c) ||
           (c < 0x80 && kSeparators.find(static_cast<char>(c)) != absl::string_view::npos);
  };
  MarkedText out;
  const std::vector<Character> characters = CharactersOf(text.text());
  for (size_t i = 0; i < characters.size();) {
    // A run of separators, or a word: its first character upper and the rest lower.
    const bool is_separator = separates(characters[i]);
    size_t end = i + 1;
    while (end < characters.size() && separates(characters[end]) == is_separator) ++end;
    const size_t rest = characters[i].end;
    out.Append(Upper(text.Part(characters[i].begin, rest)));
    out.Append(Lower(text.Part(rest, characters[end - 1].end)));
    i = end;
  }
  return Value::String(std::move(out), &call.budget);
}

absl::StatusOr<Value> ToJsonFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound,
                   call.Bind({"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonOptions options;
  options.ascii_only = IsTrue(bound[0]);
  options.sorts_keys = IsTrue(bound[3]);
  if (bound[1].IsString()) {
    options.indent = bound[1].marked_text();
  } else if (!bound[1].IsMissing() && !bound[1].IsNone()) {
    ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[1], 0, "tojson's indent"));
    if (!call.budget.HasRoomFor(width)) return call.budget.status();
    options.indent = MarkedText(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '));
  }
  if (options.indent.has_value()) options.item_separator = MarkedText(",");
  if (!bound[2].IsMissing() && !bound[2].IsNone()) {
    ASSIGN_OR_RETURN(const std::vector<Value> separators, ItemsOf(bound[2], call.budget));
    if (separators.size() != 2 || !separators[0].IsString() || !separators[1].IsString()) {
      return absl::InvalidArgumentError("tojson's separators are not two texts");
    }
    options.item_separator = separators[0].marked_text();
    options.key_separator = separators[1].marked_text();
  }
  ASSIGN_OR_RETURN(MarkedText text, DumpJson(call.input, options, call.budget));
  return Value::String(std::move(text), &call.budget);
}

absl::StatusOr<Value> TrimFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"chars"}));
  ASSIGN_OR_RETURN(const Value text, SoftString(call.input, call.budget));
  Arguments chars;
  if (!bound[0].IsMissing()) chars.positional.push_back(bound[0]);
  return CallStringMethod(text, "strip", chars, call.budget);
}

absl::StatusOr<Value> TruncateFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound,
                   call.Bind({"length", "killwords", "end", "leeway"}));
  ASSIGN_OR_RETURN(const int64_t length, IntOr(bound[0], 255, "truncate's length"));
  ASSIGN_OR_RETURN(const int64_t leeway, IntOr(bound[3], 5, "truncate's leeway"));
  const Value end = bound[2].IsMissing() ? Value::String("...") : bound[2];
  if (!end.IsString()) return absl::InvalidArgumentError("truncate's end is no text");
  if (length < end.num_characters() || leeway < 0) {
    return absl::InvalidArgumentError("truncate's length is less than that of its end");
  }
  ASSIGN_OR_RETURN(const int64_t size, LengthOf(call.input));
  if (size <= length + leeway) return call.input;
  if (!call.input.IsString()) {
    return absl::InvalidArgumentError(absl::StrCat("truncate is given a ", TypeName(call.input)));
  }
  MarkedText cut = FirstCharacters(call.input.marked_text(), length - end.num_characters());
  if (!IsTrue(bound[1])) cut = SplitAtFromRight(cut, " ", 1).front();
  return Apply(Operator::kAdd, Value::StringLike(call.input, std::move(cut), &call.budget), end,
               call.budget);
}

namespace {

MarkedText QuotedForUrl(const MarkedText& text, bool is_in_query) {
  MarkedText out;
  const std::string& bytes = text.text();
  for (size_t at = 0; at < bytes.size(); ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    const bool is_plain = absl::ascii_isalnum(byte) || byte == '_' || byte == '.' || byte == '-' ||
                          byte == '~' || (byte == '/' && !is_in_query);
    if (is_plain) {
      out.AppendPart(text, at, at + 1);
    } else if (byte == ' ' && is_in_query) {
      out.Append("+", text.IsContentAt(at));
    } else {
      out.Append(absl::StrFormat("%%%02X", byte), text.IsContentAt(at));
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<Value> UrlEncodeFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  if (call.input.IsString() || !IsIterable(call.input)) {
    ASSIGN_OR_RETURN(const MarkedText text, TextOf(call.input, call.budget));
    return Value::String(QuotedForUrl(text, false), &call.budget);
  }
  Value pairs = call.input;
  if (pairs.Is(Value::Kind::kDict)) {
    ASSIGN_OR_RETURN(pairs, CallMethod(pairs, "items", {}, call.budget));
  }
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(pairs, call.budget));
  MarkedText out;
  for (size_t i = 0; i < items.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<Value> pair, ItemsOf(items[i], call.budget));
    if (pair.size() != 2) return absl::InvalidArgumentError("urlencode wants pairs");
    if (i > 0) out.Append("&", false);
    ASSIGN_OR_RETURN(const MarkedText key, TextOf(pair[0], call.budget));
    ASSIGN_OR_RETURN(const MarkedText value, TextOf(pair[1], call.budget));
    out.Append(QuotedForUrl(key, true));
    out.Append("=", false);
    out.Append(QuotedForUrl(value, true));
    if (!call.budget.HasRoomFor(static_cast<int64_t>(out.bytes()))) return call.budget.status();
  }
  return Value::String(std::move(out), &call.budget);
}

absl::StatusOr<Value> WordCountFilter(const FilterCall& call) {
  RETURN_IF_ERROR(call.Bind({}).status());
  ASSIGN_OR_RETURN(const MarkedText text, TextOf(call.input, call.budget));
  int64_t count = 0;
  bool is_in_word = false;
  for (const Character& character : CharactersOf(text.text())) {
    const bool is_word = IsWord(character.code_point);
    if (is_word && !is_in_word) ++count;
    is_in_word = is_word;
  }
  return Value::Int(count);
}

}  // namespace strata::jinja
