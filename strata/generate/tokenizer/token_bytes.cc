#include "strata/generate/tokenizer/token_bytes.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_replace.h"
#include "strata/generate/tokenizer/byte_alphabet.h"
#include "strata/generate/tokenizer/character_tokens.h"

namespace strata {
namespace {

std::string BytesOfToken(const Vocabulary& vocabulary, TokenId id) {
  const std::string& text = vocabulary.tokens[id];
  const TokenType type = vocabulary.TypeOf(id);
  if (type == TokenType::kControl || type == TokenType::kUnknown ||
      type == TokenType::kUserDefined) {
    return text;
  }
  const bool has_characters = vocabulary.model != Vocabulary::Model::kBytePairs;
  if (type == TokenType::kByte || (has_characters && vocabulary.types.empty())) {
    if (const std::optional<char> byte = ByteOfByteToken(text)) return std::string(1, *byte);
  }
  if (has_characters) return absl::StrReplaceAll(text, {{kSentencePieceSpace, " "}});
  return BytesOfSpelling(text).value_or(text);
}

}  // namespace

std::vector<std::string> TokenBytes(const Vocabulary& vocabulary) {
  std::vector<std::string> bytes;
  bytes.reserve(vocabulary.tokens.size());
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    bytes.push_back(BytesOfToken(vocabulary, static_cast<TokenId>(id)));
  }
  return bytes;
}

}  // namespace strata
