#include "strata/generate/chat/missing_marks.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/token_mark.h"

namespace strata {

std::vector<std::string> MissingMarks(absl::Span<const TextPiece> prompt,
                                      const Tokenizer& tokenizer) {
  std::vector<std::string> missing;
  for (const TextPiece& piece : prompt) {
    if (piece.special_text != SpecialText::kIsToken) continue;
    for (const absl::string_view mark : FindTokenMarks(piece.text)) {
      if (tokenizer.SpecialTokenOf(mark).has_value()) continue;
      if (std::find(missing.begin(), missing.end(), mark) == missing.end()) {
        missing.emplace_back(mark);
      }
    }
  }
  return missing;
}

}  // namespace strata
