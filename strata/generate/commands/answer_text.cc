#include "strata/generate/commands/answer_text.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/detokenizer.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

// The longest end of `text` that `stop` begins with.
size_t PartOfStop(absl::string_view text, absl::string_view stop) {
  size_t length = stop.empty() ? 0 : std::min(text.size(), stop.size() - 1);
  while (length > 0 && !absl::EndsWith(text, stop.substr(0, length))) --length;
  return length;
}

}  // namespace

AnswerText::AnswerText(const Tokenizer& tokenizer, std::string stop)
    : num_tokens_(tokenizer.num_tokens()), stop_(std::move(stop)), detokenizer_(tokenizer, {}) {}

std::string AnswerText::Add(TokenId id) {
  if (is_stopped_ || id >= num_tokens_) return "";
  waiting_ += detokenizer_.Add(id);
  return Take(/*at_end=*/false);
}

std::string AnswerText::Finish() {
  if (is_stopped_) return "";
  waiting_ += detokenizer_.Finish();
  return Take(/*at_end=*/true);
}

std::string AnswerText::Take(bool at_end) {
  const size_t stop = stop_.empty() ? std::string::npos : waiting_.find(stop_);
  is_stopped_ = stop != std::string::npos;
  const size_t size = is_stopped_ ? stop
                      : at_end    ? waiting_.size()
                                  : waiting_.size() - PartOfStop(waiting_, stop_);
  std::string taken = waiting_.substr(0, size);
  waiting_.erase(0, size);
  text_ += taken;
  return taken;
}

}  // namespace strata
