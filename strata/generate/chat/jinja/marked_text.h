// Text that remembers which of its bytes are content.
//
// A prompt is written by a template and holds what people and tools said: content. Content keeps
// its mark through everything a template does with it, so that no text of a message is ever taken
// for the text of a control token. Positions are in bytes. Thread-compatible.
#ifndef STRATA_GENERATE_CHAT_JINJA_MARKED_TEXT_H_
#define STRATA_GENERATE_CHAT_JINJA_MARKED_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace strata::jinja {

class MarkedText {
 public:
  struct Piece {
    std::string text;
    bool is_content;

    bool operator==(const Piece& other) const {
      return text == other.text && is_content == other.is_content;
    }
  };

  MarkedText() = default;
  explicit MarkedText(std::string text, bool is_content = false);

  const std::string& text() const { return text_; }
  size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  // `at` is less than size().
  bool IsContentAt(size_t at) const;
  bool HasContent() const { return !flips_.empty() || first_is_content_; }

  void Append(absl::string_view text, bool is_content);
  void Append(const MarkedText& other) { AppendPart(other, 0, other.size()); }
  // The bytes of `other` from `begin` to before `end`.
  void AppendPart(const MarkedText& other, size_t begin, size_t end);
  MarkedText Part(size_t begin, size_t end) const;

  // The whole text in order, neighbours differing in their mark; no piece is empty.
  std::vector<Piece> Pieces() const;
  // What it takes in memory.
  size_t bytes() const { return text_.size() + flips_.size() * sizeof(size_t); }

 private:
  std::string text_;
  bool first_is_content_ = false;  // False if empty.
  std::vector<size_t> flips_;      // Where the mark changes, ascending, none at the ends.
};

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_MARKED_TEXT_H_
