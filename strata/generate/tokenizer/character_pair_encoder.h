// The encoding of `gemma4` vocabularies: byte-pair encoding over characters. Text is not cut into
// words: runs of line ends stand alone, a space is U+2581, each piece starts as its characters, and
// the neighbours with the best rank are joined (the leftmost of equals) until no merge applies.
//
// A run of line ends that is a token is taken whole. What comes of merging and is no token is written
// as CharacterTokens says. Time is n log n in the longest piece. Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_CHARACTER_PAIR_ENCODER_H_
#define STRATA_GENERATE_TOKENIZER_CHARACTER_PAIR_ENCODER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/character_tokens.h"
#include "strata/generate/tokenizer/merge_table.h"
#include "strata/generate/tokenizer/piece_encoder.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

class CharacterPairEncoder : public PieceEncoder {
 public:
  // `vocabulary` has passed CheckVocabulary. tokenizer_tokens if a merge is malformed.
  static absl::StatusOr<std::unique_ptr<CharacterPairEncoder>> Create(const Vocabulary& vocabulary);

  absl::Status Encode(absl::string_view text, bool after_special,
                      std::vector<TokenId>& ids) const override;

 private:
  using Symbol = MergeTable::Symbol;

  CharacterPairEncoder(const Vocabulary& vocabulary, MergeTable merges);

  absl::Status EncodePiece(absl::string_view piece, std::vector<TokenId>& ids) const;
  // The tokens of what `symbols` merge to; empties them.
  absl::Status AppendMerged(std::vector<Symbol>& symbols, std::vector<TokenId>& ids) const;

  const CharacterTokens tokens_;
  const MergeTable merges_;
  absl::flat_hash_map<std::string, Symbol> symbol_of_character_;  // Those that some merge has.
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_CHARACTER_PAIR_ENCODER_H_
