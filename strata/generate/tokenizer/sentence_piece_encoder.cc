#include "strata/generate/tokenizer/sentence_piece_encoder.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"

namespace strata {

std::optional<char> ByteOfByteToken(absl::string_view text) {
  if (text.size() != 6 || !absl::StartsWith(text, "<0x") || !absl::EndsWith(text, ">")) {
    return std::nullopt;
  }
  uint32_t byte = 0;
  if (!absl::SimpleHexAtoi(text.substr(3, 2), &byte)) return std::nullopt;
  return static_cast<char>(byte);
}

namespace {

// Smaller for higher scores: an IEEE float's bits order as integers once the sign is dealt with.
uint32_t RankOf(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(-score + 0.0F);  // No -0.
  constexpr uint32_t kSign = 0x80000000;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

}  // namespace

SentencePieceEncoder::SentencePieceEncoder(const Vocabulary& vocabulary)
    : file_(vocabulary.file),
      unknown_(vocabulary.UnknownId()),
      adds_space_prefix_(vocabulary.add_space_prefix.value_or(true)),
      scores_(vocabulary.scores) {
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const TokenId id = static_cast<TokenId>(i);
    const std::string& text = vocabulary.tokens[i];
    const TokenType type = vocabulary.TypeOf(id);
    if (type == TokenType::kByte || vocabulary.types.empty()) {
      if (const std::optional<char> byte = ByteOfByteToken(text)) {
        token_of_byte_[static_cast<uint8_t>(*byte)] = id;
        continue;
      }
    }
    if (type == TokenType::kControl || type == TokenType::kUnknown) continue;
    token_of_text_[text] = id;
    longest_token_ = std::max(longest_token_, text.size());
  }
}

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
  for (const absl::string_view part : parts) RETURN_IF_ERROR(AppendPart(part, ids));
  return absl::OkStatus();
}

std::optional<Joined<absl::string_view>> SentencePieceEncoder::Scores::Find(
    const Part& left, const Part& right) const {
  const Part joined(left.data(), left.size() + right.size());
  if (joined.size() > encoder.longest_token_) return std::nullopt;
  const auto token = encoder.token_of_text_.find(joined);
  if (token == encoder.token_of_text_.end()) return std::nullopt;
  const float score = encoder.scores_.empty() ? 0 : encoder.scores_[token->second];
  return Joined<Part>{RankOf(score), joined};
}

absl::Status SentencePieceEncoder::AppendPart(absl::string_view text,
                                              std::vector<TokenId>& ids) const {
  if (const auto token = token_of_text_.find(text); token != token_of_text_.end()) {
    ids.push_back(token->second);
    return absl::OkStatus();
  }
  const bool has_all_bytes = std::all_of(text.begin(), text.end(), [this](char byte) {
    return token_of_byte_[static_cast<uint8_t>(byte)].has_value();
  });
  if (has_all_bytes) {
    for (const char byte : text) ids.push_back(*token_of_byte_[static_cast<uint8_t>(byte)]);
    return absl::OkStatus();
  }
  if (!unknown_) {
    return InputError("tokenizer_tokens", file_,
                      absl::StrFormat("tokenizer.ggml.tokens: there is no token for U+%04X",
                                      static_cast<uint32_t>(FirstUtf8Character(text).code_point)));
  }
  ids.push_back(*unknown_);
  return absl::OkStatus();
}

}  // namespace strata
