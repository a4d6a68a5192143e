#include "strata/generate/chat/jinja/marked_text.h"

#include <algorithm>
#include <utility>

#include "glog/logging.h"

namespace strata::jinja {

MarkedText::MarkedText(std::string text, bool is_content)
    : text_(std::move(text)), first_is_content_(is_content && !text_.empty()) {}

bool MarkedText::IsContentAt(size_t at) const {
  CHECK_LT(at, size());
  const auto flip = std::upper_bound(flips_.begin(), flips_.end(), at);
  const bool is_flipped = (flip - flips_.begin()) % 2 != 0;
  return first_is_content_ != is_flipped;
}

void MarkedText::Append(absl::string_view text, bool is_content) {
  if (text.empty()) return;
  if (empty()) {
    first_is_content_ = is_content;
  } else if ((first_is_content_ != (flips_.size() % 2 != 0)) != is_content) {
    flips_.push_back(size());
  }
  text_.append(text.data(), text.size());
}

void MarkedText::AppendPart(const MarkedText& other, size_t begin, size_t end) {
  CHECK_LE(begin, end);
  CHECK_LE(end, other.size());
  if (begin == end) return;
  const absl::string_view text = other.text_;
  bool is_content = other.IsContentAt(begin);
  auto flip = std::upper_bound(other.flips_.begin(), other.flips_.end(), begin);
  for (; flip != other.flips_.end() && *flip < end; ++flip) {
    Append(text.substr(begin, *flip - begin), is_content);
    begin = *flip;
    is_content = !is_content;
  }
  Append(text.substr(begin, end - begin), is_content);
}

MarkedText MarkedText::Part(size_t begin, size_t end) const {
  MarkedText part;
  part.AppendPart(*this, begin, end);
  return part;
}

std::vector<MarkedText::Piece> MarkedText::Pieces() const {
  std::vector<Piece> pieces;
  bool is_content = first_is_content_;
  size_t begin = 0;
  for (size_t i = 0; begin < size(); ++i) {
    const size_t end = i < flips_.size() ? flips_[i] : size();
    pieces.push_back({text_.substr(begin, end - begin), is_content});
    begin = end;
    is_content = !is_content;
  }
  return pieces;
}

}  // namespace strata::jinja
