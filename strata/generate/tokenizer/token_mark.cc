#include "strata/generate/tokenizer/token_mark.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace strata {
namespace {

constexpr size_t kMaxBytes = 64;

// The size of the text from `open` to `close` at the start of `text`, where what is between them is
// not empty and of these characters alone; 0 if it is not so.
template <typename IsInside>
size_t Enclosed(absl::string_view text, absl::string_view open, absl::string_view close,
                IsInside is_inside) {
  if (!absl::StartsWith(text, open)) return 0;
  const size_t end = text.substr(0, kMaxBytes).find(close, open.size());
  if (end == absl::string_view::npos || end == open.size()) return 0;
  const absl::string_view inside = text.substr(open.size(), end - open.size());
  return std::all_of(inside.begin(), inside.end(), is_inside) ? end + close.size() : 0;
}

// The size of the mark at the start of `text`; 0 if there is none.
size_t MarkSize(absl::string_view text) {
  const auto is_name = [](char c) { return !absl::ascii_isspace(c) && c != '<' && c != '>'; };
  const auto is_lower = [](char c) { return absl::ascii_islower(c) || c == '_'; };
  const auto is_upper = [](char c) { return absl::ascii_isupper(c) || c == '_' || c == '/'; };
  if (const size_t size = Enclosed(text, "<|", "|>", is_name)) return size;
  if (const size_t size = Enclosed(text, "<｜", "｜>", is_name)) return size;
  if (const size_t size = Enclosed(text, "<|", ">", is_lower)) return size;
  if (const size_t size = Enclosed(text, "<", "|>", is_lower)) return size;
  if (const size_t size = Enclosed(text, "[", "]", is_upper)) return size;
  const size_t size = Enclosed(text, "<", ">", is_lower);
  return absl::StrContains(text.substr(0, size), "_of_") ? size : 0;
}

}  // namespace

bool IsTokenMark(absl::string_view text) { return !text.empty() && MarkSize(text) == text.size(); }

std::vector<absl::string_view> FindTokenMarks(absl::string_view text) {
  std::vector<absl::string_view> marks;
  for (size_t at = 0; at < text.size();) {
    const size_t size = text[at] == '<' || text[at] == '[' ? MarkSize(text.substr(at)) : 0;
    if (size > 0) marks.push_back(text.substr(at, size));
    at += std::max<size_t>(size, 1);
  }
  return marks;
}

}  // namespace strata
