// Methods that put strings into a width.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/string_call.h"

namespace strata::jinja {
namespace {

int64_t CharactersMissing(int64_t width, int64_t num_characters) {
  return width <= num_characters ? 0 : width - num_characters;
}

}  // namespace

absl::StatusOr<Value> Justify(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"width", "fill"}, 1));
  if (bound[0].IsNone()) return call.WrongType(bound[0]);
  ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[0], 0, "width"));
  MarkedText fill(" ");
  if (!bound[1].IsMissing()) {
    if (!bound[1].IsString() || bound[1].num_characters() != 1) return call.WrongType(bound[1]);
    fill = bound[1].marked_text();
  }
  const int64_t missing = CharactersMissing(width, call.self.num_characters());
  // Four bytes for each, unless that would overflow.
  if (!call.budget.HasRoomFor(std::min(missing, INT64_MAX / 4) * 4)) return call.budget.status();
  int64_t before = 0;
  if (call.name == "rjust") before = missing;
  // Python's center puts the odd one on the left only if the width is odd.
  if (call.name == "center") before = missing / 2 + (missing & width & 1);
  MarkedText text;
  for (int64_t i = 0; i < before; ++i) text.Append(fill);
  text.Append(call.text());
  for (int64_t i = before; i < missing; ++i) text.Append(fill);
  return call.Result(std::move(text));
}

absl::StatusOr<Value> ZeroFill(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Positional({"width"}, 1));
  if (bound[0].IsNone()) return call.WrongType(bound[0]);
  ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[0], 0, "width"));
  const int64_t missing = CharactersMissing(width, call.self.num_characters());
  if (!call.budget.HasRoomFor(missing)) return call.budget.status();
  const MarkedText& text = call.text();
  const bool has_sign = !text.empty() && (text.text()[0] == '-' || text.text()[0] == '+');
  MarkedText filled = text.Part(0, has_sign ? 1 : 0);
  filled.Append(std::string(static_cast<size_t>(missing), '0'), false);
  filled.AppendPart(text, has_sign ? 1 : 0, text.size());
  return call.Result(std::move(filled));
}

absl::StatusOr<Value> ExpandTabs(const StringCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, Bind(call.name, call.arguments, {"tabsize"}));
  ASSIGN_OR_RETURN(const int64_t tab_size, IntOr(bound[0], 8, "tabsize"));
  MarkedText expanded;
  int64_t column = 0;
  for (const Character& c : CharactersOf(call.text().text())) {
    if (c.code_point == '\t') {
      const int64_t spaces = tab_size > 0 ? tab_size - column % tab_size : 0;
      if (!call.budget.HasRoomFor(spaces) ||
          !call.budget.HasRoomFor(static_cast<int64_t>(expanded.size()) + spaces)) {
        return call.budget.status();
      }
      expanded.Append(std::string(static_cast<size_t>(spaces), ' '),
                      call.text().IsContentAt(c.begin));
      column += spaces;
      continue;
    }
    expanded.AppendPart(call.text(), c.begin, c.end);
    column = c.code_point == '\n' || c.code_point == '\r' ? 0 : column + 1;
  }
  return call.Result(std::move(expanded));
}

}  // namespace strata::jinja
