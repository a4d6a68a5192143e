#include "strata/generate/tokenizer/character_tokens.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "strata/core/error.h"
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

CharacterTokens::CharacterTokens(const Vocabulary& vocabulary)
    : file_(vocabulary.file), unknown_(vocabulary.UnknownId()) {
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
    longest_ = std::max(longest_, text.size());
  }
}

std::optional<TokenId> CharacterTokens::Find(absl::string_view text) const {
  const auto token = token_of_text_.find(text);
  if (token == token_of_text_.end()) return std::nullopt;
  return token->second;
}

absl::Status CharacterTokens::Append(absl::string_view text, std::vector<TokenId>& ids) const {
  if (const std::optional<TokenId> token = Find(text)) {
    ids.push_back(*token);
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
