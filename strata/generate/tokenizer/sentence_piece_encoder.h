// The encoding of SentencePiece vocabularies as `llama` files hold them: no cutting into words, a
// space is U+2581, characters are joined to the token of the highest score (the leftmost of equals)
// until no neighbours make one, and what is no token is written as CharacterTokens says.
//
// With `add_space_prefix` (the default) text at the start, and after a special token, has a space
// put before it. Time is n log n.
// Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_SENTENCE_PIECE_ENCODER_H_
#define STRATA_GENERATE_TOKENIZER_SENTENCE_PIECE_ENCODER_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/character_tokens.h"
#include "strata/generate/tokenizer/merge_list.h"
#include "strata/generate/tokenizer/piece_encoder.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

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

  const bool adds_space_prefix_;
  const std::vector<float> scores_;  // Empty: all 0.
  const CharacterTokens tokens_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_SENTENCE_PIECE_ENCODER_H_
