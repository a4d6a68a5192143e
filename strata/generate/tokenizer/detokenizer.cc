#include "strata/generate/tokenizer/detokenizer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "strata/core/utf8.h"

namespace strata {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, const Options& options)
    : tokenizer_(tokenizer),
      shows_control_(options.shows_control),
      drops_space_prefix_(options.drops_space_prefix && tokenizer.adds_space_prefix()) {}

std::string Detokenizer::Add(TokenId id) {
  if (tokenizer_.IsControl(id)) {
    is_after_special_ = true;
    std::string text = TakeComplete(/*at_end=*/true);
    if (shows_control_) absl::StrAppend(&text, ReplaceIllFormedUtf8(tokenizer_.BytesOf(id)));
    return text;
  }
  absl::string_view bytes = tokenizer_.BytesOf(id);
  const bool is_special = tokenizer_.IsSpecial(id);
  if (drops_space_prefix_ && is_after_special_ && !is_special) absl::ConsumePrefix(&bytes, " ");
  is_after_special_ = is_special;
  pending_.append(bytes.data(), bytes.size());
  return TakeComplete(/*at_end=*/false);
}

std::string Detokenizer::Finish() { return TakeComplete(/*at_end=*/true); }

std::string Detokenizer::TakeComplete(bool at_end) {
  size_t end = 0;
  while (end < pending_.size()) {
    const Utf8Character character = FirstUtf8Character(absl::string_view(pending_).substr(end));
    if (character.status == Utf8Character::Status::kIncomplete && !at_end) break;
    end += character.num_bytes;
  }
  std::string text = ReplaceIllFormedUtf8(absl::string_view(pending_).substr(0, end));
  pending_.erase(0, end);
  return text;
}

std::string Decode(const Tokenizer& tokenizer, absl::Span<const TokenId> ids) {
  if (tokenizer.adds_bos() && !ids.empty() && ids.front() == tokenizer.bos()) {
    ids.remove_prefix(1);
  }
  if (tokenizer.adds_eos() && !ids.empty() && ids.back() == tokenizer.eos()) {
    ids.remove_suffix(1);
  }
  Detokenizer detokenizer(tokenizer, {.drops_space_prefix = true, .shows_control = true});
  std::string text;
  for (const TokenId id : ids) absl::StrAppend(&text, detokenizer.Add(id));
  absl::StrAppend(&text, detokenizer.Finish());
  return text;
}

}  // namespace strata
