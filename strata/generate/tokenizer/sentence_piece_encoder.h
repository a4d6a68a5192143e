// The encoding of SentencePiece vocabularies as `llama` files hold them: no cutting into words, a
// space is U+2581, characters are joined to the token of the highest score (the leftmost of equals)
// until no neighbours make one, and a character that is no token is written as its byte tokens, or
// as the unknown token.
//
// With `add_space_prefix` (the default) text at the start, and after a special token, has a space
// put before it. Control, unknown and byte tokens never come out of text. Time is n log n.
// Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_SENTENCE_PIECE_ENCODER_H_
#define STRATA_GENERATE_TOKENIZER_SENTENCE_PIECE_ENCODER_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/merge_list.h"
#include "strata/generate/tokenizer/piece_encoder.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

// U+2581, which stands for a space in tokens.
inline constexpr absl::string_view kSentencePieceSpace = "\u2581";

// The byte of a token named "<0x41>"; nothing for other texts.
std::optional<char> ByteOfByteToken(absl::string_view text);

class SentencePieceEncoder : public PieceEncoder {
 public:
  // `vocabulary` has passed CheckVocabulary.
  explicit SentencePieceEncoder(const Vocabulary& vocabulary);

  absl::Status Encode(absl::string_view text, bool after_special,
                      std::vector<TokenId>& ids) const override;

 private:
  struct Scores {  // A Rule of MergeList; parts are neighbouring bytes of the text under way.
    using Part = absl::string_view;
    std::optional<Joined<Part>> Find(const Part& left, const Part& right) const;

    const SentencePieceEncoder& encoder;
  };

  absl::Status AppendPart(absl::string_view text, std::vector<TokenId>& ids) const;

  const std::string file_;
  const std::optional<TokenId> unknown_;
  const bool adds_space_prefix_;
  const std::vector<float> scores_;                          // Empty: all 0.
  absl::flat_hash_map<std::string, TokenId> token_of_text_;  // The last of equal ones.
  size_t longest_token_ = 0;                                 // In bytes.
  std::array<std::optional<TokenId>, 256> token_of_byte_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_SENTENCE_PIECE_ENCODER_H_
