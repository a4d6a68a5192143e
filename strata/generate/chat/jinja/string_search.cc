#include "strata/generate/chat/jinja/string_search.h"

#include <algorithm>
#include <string>

#include "strata/generate/chat/jinja/characters.h"

namespace strata::jinja {

std::vector<MarkedText> SplitAt(const MarkedText& text, absl::string_view separator,
                                int64_t limit) {
  std::vector<MarkedText> parts;
  const absl::string_view bytes = text.text();
  size_t begin = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t at = bytes.find(separator, begin);
    if (at == absl::string_view::npos) break;
    parts.push_back(text.Part(begin, at));
    begin = at + separator.size();
  }
  parts.push_back(text.Part(begin, text.size()));
  return parts;
}

std::vector<MarkedText> SplitAtFromRight(const MarkedText& text, absl::string_view separator,
                                         int64_t limit) {
  std::vector<MarkedText> parts;
  const absl::string_view bytes = text.text();
  size_t end = text.size();
  while ((limit < 0 || static_cast<int64_t>(parts.size()) < limit) && end >= separator.size()) {
    const size_t at = bytes.substr(0, end).rfind(separator);
    if (at == absl::string_view::npos) break;
    parts.push_back(text.Part(at + separator.size(), end));
    end = at;
  }
  parts.push_back(text.Part(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<MarkedText> SplitAtSpace(const MarkedText& text, int64_t limit) {
  std::vector<MarkedText> parts;
  const std::string& bytes = text.text();
  size_t at = SkipSpace(bytes, 0);
  while (at < bytes.size()) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.push_back(text.Part(at, text.size()));
      break;
    }
    const size_t begin = at;
    while (at < bytes.size()) {
      const Character character = CharacterAt(bytes, at);
      if (IsSpace(character.code_point)) break;
      at = character.end;
    }
    parts.push_back(text.Part(begin, at));
    at = SkipSpace(bytes, at);
  }
  return parts;
}

std::vector<MarkedText> SplitAtSpaceFromRight(const MarkedText& text, int64_t limit) {
  std::vector<MarkedText> parts;
  const std::vector<Character> characters = CharactersOf(text.text());
  const auto is_space = [&](size_t i) { return IsSpace(characters[i - 1].code_point); };
  size_t end = characters.size();
  while (end > 0 && is_space(end)) --end;
  while (end > 0) {
    const size_t end_byte = characters[end - 1].end;
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.push_back(text.Part(0, end_byte));
      break;
    }
    while (end > 0 && !is_space(end)) --end;
    parts.push_back(text.Part(end == 0 ? 0 : characters[end - 1].end, end_byte));
    while (end > 0 && is_space(end)) --end;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<MarkedText> SplitLines(const MarkedText& text, bool keeps_ends) {
  std::vector<MarkedText> lines;
  const std::string& bytes = text.text();
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const Character character = CharacterAt(bytes, at);
    at = character.end;
    if (!IsLineEnd(character.code_point)) continue;
    if (character.code_point == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    lines.push_back(text.Part(begin, keeps_ends ? at : character.begin));
    begin = at;
  }
  if (begin < bytes.size()) lines.push_back(text.Part(begin, bytes.size()));
  return lines;
}

absl::StatusOr<MarkedText> Replace(const MarkedText& text, absl::string_view from,
                                   const MarkedText& to, int64_t limit, Budget& budget) {
  MarkedText out;
  const absl::string_view bytes = text.text();
  size_t begin = 0;
  int64_t num_replaced = 0;
  const auto may_go_on = [&] {
    return (limit < 0 || num_replaced < limit) &&
           budget.HasRoomFor(static_cast<int64_t>(out.bytes() + to.bytes()));
  };
  if (from.empty()) {
    while (may_go_on()) {
      out.Append(to);
      ++num_replaced;
      if (begin == bytes.size()) break;
      const size_t end = CharacterAt(bytes, begin).end;
      out.AppendPart(text, begin, end);
      begin = end;
    }
  } else {
    while (may_go_on()) {
      const size_t at = bytes.find(from, begin);
      if (at == absl::string_view::npos) break;
      out.AppendPart(text, begin, at);
      out.Append(to);
      begin = at + from.size();
      ++num_replaced;
    }
  }
  if (!budget.ok()) return budget.status();
  out.AppendPart(text, begin, text.size());
  return out;
}

}  // namespace strata::jinja
