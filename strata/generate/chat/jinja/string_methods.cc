#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/methods.h"
#include "strata/generate/chat/jinja/python_text.h"
#include "strata/generate/chat/jinja/string_call.h"
#include "strata/generate/chat/jinja/string_search.h"
#include "strata/generate/chat/jinja/text_format.h"

namespace strata::jinja {
namespace {

absl::StatusOr<Value> ChangeCase(const StringCall& call) {
  RETURN_IF_ERROR(call.Positional({}, 0).status());
  if (call.name == "upper") return call.Result(Upper(call.text()));
  if (call.name == "lower") return call.Result(Lower(call.text()));
  if (call.name == "capitalize") return call.Result(Capitalize(call.text()));
  if (call.name == "title") return call.Result(Title(call.text()));
  return call.Result(SwapCase(call.text()));
}

absl::StatusOr<Value> Strip(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"chars"}, 0));
  const Value& set = bound[0];
  const bool is_space = set.IsMissing() || set.IsNone();
  if (!is_space && !set.IsString()) return call.WrongType(set);
  const std::string& text = call.text().text();
  size_t begin = 0;
  size_t end = text.size();
  if (is_space) {
    if (call.name != "rstrip") begin = SkipSpace(text, 0);
    if (call.name != "lstrip") end = std::max(begin, SkipSpaceBackwards(text, end));
    return call.Result(call.text().Part(begin, end));
  }
  const std::vector<Character> characters = CharactersOf(text);
  call.budget.HandleBytes(static_cast<int64_t>(text.size() + set.text().size()));
  const auto is_in_set = [&](const Character& character) {
    return absl::string_view(set.text())
               .find(absl::string_view(text).substr(
                   character.begin, character.end - character.begin)) != absl::string_view::npos;
  };
  size_t first = 0;
  size_t last = characters.size();
  if (call.name != "rstrip") {
    while (first < last && is_in_set(characters[first])) ++first;
  }
  if (call.name != "lstrip") {
    while (last > first && is_in_set(characters[last - 1])) --last;
  }
  if (first == last) return call.Result(MarkedText());
  return call.Result(call.text().Part(characters[first].begin, characters[last - 1].end));
}

absl::StatusOr<Value> Split(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound,
                   Bind(call.name, call.arguments, {"sep", "maxsplit"}));
  const Value& separator = bound[0];
  ASSIGN_OR_RETURN(const int64_t limit, IntOr(bound[1], -1, "maxsplit"));
  const bool from_right = call.name == "rsplit";
  std::vector<MarkedText> parts;
  if (separator.IsMissing() || separator.IsNone()) {
    parts =
        from_right ? SplitAtSpaceFromRight(call.text(), limit) : SplitAtSpace(call.text(), limit);
  } else if (!separator.IsString()) {
    return call.WrongType(separator);
  } else if (separator.text().empty()) {
    return absl::InvalidArgumentError("an empty separator");
  } else {
    parts = from_right ? SplitAtFromRight(call.text(), separator.text(), limit)
                       : SplitAt(call.text(), separator.text(), limit);
  }
  std::vector<Value> items;
  items.reserve(parts.size());
  for (MarkedText& part : parts) items.push_back(call.Result(std::move(part)));
  return Value::List(std::move(items), &call.budget);
}

absl::StatusOr<Value> SplitLinesCall(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, Bind(call.name, call.arguments, {"keepends"}));
  std::vector<Value> items;
  for (MarkedText& line : SplitLines(call.text(), IsTrue(bound[0]))) {
    items.push_back(call.Result(std::move(line)));
  }
  return Value::List(std::move(items), &call.budget);
}

absl::StatusOr<Value> Partition(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"sep"}, 1));
  const Value& separator = bound[0];
  if (!separator.IsString()) return call.WrongType(separator);
  if (separator.text().empty()) return absl::InvalidArgumentError("an empty separator");
  const MarkedText& text = call.text();
  const bool from_right = call.name == "rpartition";
  const size_t at =
      from_right ? text.text().rfind(separator.text()) : text.text().find(separator.text());
  std::vector<Value> parts;
  if (at == std::string::npos) {
    const Value empty = call.Result(MarkedText());
    parts = from_right ? std::vector<Value>{empty, empty, call.self}
                       : std::vector<Value>{call.self, empty, empty};
  } else {
    parts = {call.Result(text.Part(0, at)), call.Result(separator.marked_text()),
             call.Result(text.Part(at + separator.text().size(), text.size()))};
  }
  return Value::Tuple(std::move(parts), &call.budget);
}

// The byte of the character with index `index`, which may be past the end.
size_t ByteOf(const std::string& text, int64_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at = CharacterAt(text, at).end;
  return at;
}

// The part of a text that a method's `start` and `stop` leave.
struct Window {
  size_t begin;
  size_t end;
  bool is_past_end;  // Even an empty text is not found there.
};

absl::StatusOr<Window> WindowOf(const StringCall& call, const Value& start_value,
                                const Value& stop_value) {
  const int64_t size = call.self.num_characters();
  ASSIGN_OR_RETURN(int64_t start, IntOr(start_value, 0, "start"));
  ASSIGN_OR_RETURN(int64_t stop, IntOr(stop_value, size, "stop"));
  if (start < 0) start = std::max<int64_t>(0, start + size);
  if (stop < 0) stop = std::max<int64_t>(0, stop + size);
  stop = std::min(stop, size);
  const std::string& text = call.text().text();
  call.budget.HandleBytes(static_cast<int64_t>(text.size()));
  if (start > stop) return Window{0, 0, true};
  return Window{ByteOf(text, start), ByteOf(text, stop), false};
}

absl::StatusOr<Value> Find(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"sub", "start", "stop"}, 1));
  if (!bound[0].IsString()) return call.WrongType(bound[0]);
  ASSIGN_OR_RETURN(const Window window, WindowOf(call, bound[1], bound[2]));
  const absl::string_view text =
      absl::string_view(call.text().text()).substr(window.begin, window.end - window.begin);
  const bool from_right = call.name == "rfind" || call.name == "rindex";
  size_t at = absl::string_view::npos;
  if (!window.is_past_end) {
    at = from_right ? text.rfind(bound[0].text()) : text.find(bound[0].text());
  }
  if (at == absl::string_view::npos) {
    if (call.name == "find" || call.name == "rfind") return Value::Int(-1);
    return absl::InvalidArgumentError("index: the text is not found");
  }
  const Value before = Value::String(call.text().Part(0, window.begin + at), &call.budget);
  return Value::Int(before.num_characters());
}

absl::StatusOr<Value> Count(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"sub", "start", "stop"}, 1));
  if (!bound[0].IsString()) return call.WrongType(bound[0]);
  ASSIGN_OR_RETURN(const Window window, WindowOf(call, bound[1], bound[2]));
  if (window.is_past_end) return Value::Int(0);
  const MarkedText part = call.text().Part(window.begin, window.end);
  if (bound[0].text().empty()) {
    return Value::Int(static_cast<int64_t>(CharactersOf(part.text()).size()) + 1);
  }
  return Value::Int(static_cast<int64_t>(SplitAt(part, bound[0].text(), -1).size()) - 1);
}

absl::StatusOr<Value> StartsOrEnds(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"prefix", "start", "stop"}, 1));
  ASSIGN_OR_RETURN(const Window window, WindowOf(call, bound[1], bound[2]));
  const absl::string_view text =
      absl::string_view(call.text().text()).substr(window.begin, window.end - window.begin);
  const std::vector<Value> affixes =
      bound[0].Is(Value::Kind::kTuple) ? bound[0].items() : std::vector<Value>{bound[0]};
  for (const Value& affix : affixes) {
    if (!affix.IsString()) return call.WrongType(affix);
    if (window.is_past_end) continue;
    const bool fits = call.name == "startswith" ? absl::StartsWith(text, affix.text())
                                                : absl::EndsWith(text, affix.text());
    if (fits) return Value::Bool(true);
  }
  return Value::Bool(false);
}

absl::StatusOr<Value> RemoveAffix(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"affix"}, 1));
  if (!bound[0].IsString()) return call.WrongType(bound[0]);
  const MarkedText& text = call.text();
  const size_t size = bound[0].text().size();
  if (call.name == "removeprefix" && absl::StartsWith(text.text(), bound[0].text())) {
    return call.Result(text.Part(size, text.size()));
  }
  if (call.name == "removesuffix" && absl::EndsWith(text.text(), bound[0].text())) {
    return call.Result(text.Part(0, text.size() - size));
  }
  return call.self;
}

absl::StatusOr<Value> ReplaceCall(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"old", "new", "count"}, 2));
  if (!bound[0].IsString()) return call.WrongType(bound[0]);
  if (!bound[1].IsString()) return call.WrongType(bound[1]);
  if (bound[2].IsNone()) return call.WrongType(bound[2]);
  ASSIGN_OR_RETURN(const int64_t count, IntOr(bound[2], -1, "count"));
  ASSIGN_OR_RETURN(MarkedText text, Replace(call.text(), bound[0].text(), bound[1].marked_text(),
                                            count, call.budget));
  return call.Result(std::move(text));
}

absl::StatusOr<Value> JoinCall(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"iterable"}, 1));
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(bound[0], call.budget));
  MarkedText joined;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!call.budget.HasRoomFor(static_cast<int64_t>(joined.bytes()))) return call.budget.status();
    if (i > 0) joined.Append(call.text());
    if (call.self.IsMarkup()) {
      ASSIGN_OR_RETURN(const MarkedText escaped, EscapedText(items[i], call.budget));
      joined.Append(escaped);
    } else if (items[i].IsString()) {
      joined.Append(items[i].marked_text());
    } else {
      return call.WrongType(items[i]);
    }
  }
  return call.Result(std::move(joined));
}

absl::StatusOr<Value> FormatCall(const StringCall& call) {
  if (call.name == "format") return FormatBraces(call.self, call.arguments, call.budget);
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"mapping"}, 1));
  if (!bound[0].Is(Value::Kind::kDict)) return call.WrongType(bound[0]);
  Arguments arguments;
  for (const auto& [key, value] : bound[0].dict().entries()) {
    if (key.IsString()) arguments.named.emplace_back(key.text(), value);
  }
  return FormatBraces(call.self, arguments, call.budget);
}

using Method = absl::StatusOr<Value> (*)(const StringCall&);
using MethodTable = absl::flat_hash_map<absl::string_view, Method>;

const MethodTable& Methods() {
  static const MethodTable& methods = *new MethodTable{
      {"capitalize", ChangeCase},
      {"center", Justify},
      {"count", Count},
      {"endswith", StartsOrEnds},
      {"expandtabs", ExpandTabs},
      {"find", Find},
      {"format", FormatCall},
      {"format_map", FormatCall},
      {"index", Find},
      {"isalnum", ClassifyString},
      {"isalpha", ClassifyString},
      {"isascii", ClassifyString},
      {"isdecimal", ClassifyString},
      {"isdigit", ClassifyString},
      {"isidentifier", ClassifyString},
      {"islower", ClassifyString},
      {"isnumeric", ClassifyString},
      {"isprintable", ClassifyString},
      {"isspace", ClassifyString},
      {"istitle", ClassifyString},
      {"isupper", ClassifyString},
      {"join", JoinCall},
      {"ljust", Justify},
      {"lower", ChangeCase},
      {"lstrip", Strip},
      {"partition", Partition},
      {"removeprefix", RemoveAffix},
      {"removesuffix", RemoveAffix},
      {"replace", ReplaceCall},
      {"rfind", Find},
      {"rindex", Find},
      {"rjust", Justify},
      {"rpartition", Partition},
      {"rsplit", Split},
      {"rstrip", Strip},
      {"split", Split},
      {"splitlines", SplitLinesCall},
      {"startswith", StartsOrEnds},
      {"strip", Strip},
      {"swapcase", ChangeCase},
      {"title", ChangeCase},
      {"upper", ChangeCase},
      {"zfill", ZeroFill},
  };
  return methods;
}

// Methods of markup escape the texts they are given, but for these.
bool EscapesArguments(absl::string_view name) {
  return name == "replace" || name == "ljust" || name == "rjust" || name == "center" ||
         name == "strip" || name == "lstrip" || name == "rstrip" || name == "partition" ||
         name == "rpartition";
}

}  // namespace

bool IsStringMethod(absl::string_view name) { return Methods().contains(name); }

absl::StatusOr<Value> CallStringMethod(const Value& self, absl::string_view name,
                                       const Arguments& arguments, Budget& budget) {
  budget.HandleBytes(static_cast<int64_t>(self.text().size()));
  const Method method = Methods().at(name);
  if (!self.IsMarkup() || !EscapesArguments(name)) return method({self, name, arguments, budget});
  Arguments escaped = arguments;
  for (Value& value : escaped.positional) {
    if (!value.IsString()) continue;
    ASSIGN_OR_RETURN(MarkedText text, EscapedText(value, budget));
    value = Value::String(std::move(text), &budget);
  }
  return method({self, name, escaped, budget});
}

}  // namespace strata::jinja
