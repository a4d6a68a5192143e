#include "strata/generate/tokenizer/sentence_piece_encoder.h"

#include <bit>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"

namespace strata {

namespace {

// Smaller for higher scores: an IEEE float's bits order as integers once the sign is dealt with.
uint32_t RankOf(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(-score + 0.0F);  // No -0.
  constexpr uint32_t kSign = 0x80000000;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

}  // namespace

SentencePieceEncoder::SentencePieceEncoder(const Vocabulary& vocabulary)
    : adds_space_prefix_(vocabulary.add_space_prefix.value_or(true)),
      scores_(vocabulary.scores),
      tokens_(vocabulary) {}

absl::Status SentencePieceEncoder::Encode(absl::string_view text, bool after_special,
                                          std::vector<TokenId>& ids) const {
  if (text.empty()) return absl::OkStatus();
  const bool needs_prefix = adds_space_prefix_ && after_special;
  const std::string spelled = absl::StrCat(needs_prefix ? kSentencePieceSpace : "",
                                           absl::StrReplaceAll(text, {{" ", kSentencePieceSpace}}));
  std::vector<absl::string_view> parts;
  for (absl::string_view rest = spelled; !rest.empty();) {
    const size_t num_bytes = FirstUtf8Character(rest).num_bytes;
    parts.push_back(rest.substr(0, num_bytes));
    rest.remove_prefix(num_bytes);
  }
  const Scores scores = {*this};
  MergeList<Scores>(scores).Merge(parts);
  for (const absl::string_view part : parts) RETURN_IF_ERROR(tokens_.Append(part, ids));
  return absl::OkStatus();
}

std::optional<Joined<absl::string_view>> SentencePieceEncoder::Scores::Find(
    const Part& left, const Part& right) const {
  const Part joined(left.data(), left.size() + right.size());
  if (joined.size() > encoder.tokens_.longest()) return std::nullopt;
  const std::optional<TokenId> token = encoder.tokens_.Find(joined);
  if (!token.has_value()) return std::nullopt;
  const float score = encoder.scores_.empty() ? 0 : encoder.scores_[*token];
  return Joined<Part>{RankOf(score), joined};
}

}  // namespace strata
