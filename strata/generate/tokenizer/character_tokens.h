// Tokens by their text, in vocabularies whose texts are characters and not bytes: a space is U+2581,
// and a character that is no token is written as the tokens of its bytes, `<0xNN>`, or as the
// unknown token. Control, unknown and byte tokens have no text here: they never come out of text.
//
// Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_CHARACTER_TOKENS_H_
#define STRATA_GENERATE_TOKENIZER_CHARACTER_TOKENS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

// U+2581, which stands for a space in tokens.
inline constexpr absl::string_view kSentencePieceSpace = "\u2581";

// The byte of a token named "<0x41>"; nothing for other texts.
std::optional<char> ByteOfByteToken(absl::string_view text);

class CharacterTokens {
 public:
  // `vocabulary` has passed CheckVocabulary.
  explicit CharacterTokens(const Vocabulary& vocabulary);

  // The last of equal ones.
  std::optional<TokenId> Find(absl::string_view text) const;
  // In bytes.
  size_t longest() const { return longest_; }

  // The token of `text`, or what its bytes are written as. An InputError of kind tokenizer_tokens
  // when there is neither.
  absl::Status Append(absl::string_view text, std::vector<TokenId>& ids) const;

 private:
  const std::string file_;
  const std::optional<TokenId> unknown_;
  absl::flat_hash_map<std::string, TokenId> token_of_text_;
  size_t longest_ = 0;
  std::array<std::optional<TokenId>, 256> token_of_byte_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_CHARACTER_TOKENS_H_
