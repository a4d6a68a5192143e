#include "strata/generate/chat/answer_starts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"

namespace strata {
namespace {

std::string TextOf(absl::Span<const TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) text += piece.text;
  return text;
}

size_t CommonBytes(absl::string_view a, absl::string_view b) {
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first -
      a.begin());
}

}  // namespace

void AnswerStarts::Add(absl::Span<const TextPiece> prompt) {
  std::string text = TextOf(prompt);
  const size_t common = CommonBytes(text, text_);
  starts_.erase(std::upper_bound(starts_.begin(), starts_.end(), common), starts_.end());
  if (starts_.empty() || starts_.back() != text.size()) starts_.push_back(text.size());
  text_ = std::move(text);
}

std::vector<TextPiece> AnswerStarts::Cut(absl::Span<const TextPiece> prompt) const {
  const size_t common = CommonBytes(TextOf(prompt), text_);
  std::vector<TextPiece> result;
  size_t piece_begin = 0;
  auto start = starts_.begin();
  for (const TextPiece& piece : prompt) {
    size_t begin = 0;  // In the piece.
    bool starts_token = piece.starts_token;
    for (; start != starts_.end() && *start <= common && *start < piece_begin + piece.text.size();
         ++start) {
      const size_t at = *start - piece_begin;
      if (at > begin) {
        result.push_back({piece.text.substr(begin, at - begin), piece.special_text, starts_token});
      }
      begin = at;
      starts_token = true;
    }
    result.push_back({piece.text.substr(begin), piece.special_text, starts_token});
    piece_begin += piece.text.size();
  }
  return result;
}

}  // namespace strata
