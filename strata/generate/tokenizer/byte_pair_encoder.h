// Byte-level byte-pair encoding: text is cut by a PreTokenizer, each piece starts as its bytes, and
// the neighbours with the best rank are joined (the leftmost of equals) until no merge applies.
//
// A joined symbol that is no token is written as its bytes, and a byte that is no token as the
// unknown token. Time is n log n in the longest piece.
// Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_BYTE_PAIR_ENCODER_H_
#define STRATA_GENERATE_TOKENIZER_BYTE_PAIR_ENCODER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/merge_table.h"
#include "strata/generate/tokenizer/piece_encoder.h"
#include "strata/generate/tokenizer/pre_tokenizer.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

class BytePairEncoder : public PieceEncoder {
 public:
  // `vocabulary` has passed CheckVocabulary. tokenizer_tokens if a merge is malformed.
  static absl::StatusOr<std::unique_ptr<BytePairEncoder>> Create(const Vocabulary& vocabulary,
                                                                 PreTokenizer pre_tokenizer);

  absl::Status Encode(absl::string_view text, bool after_special,
                      std::vector<TokenId>& ids) const override;

 private:
  using Symbol = MergeTable::Symbol;
  static constexpr TokenId kNoToken = -1;

  BytePairEncoder(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer, MergeTable merges);

  absl::Status AppendSymbol(Symbol symbol, std::vector<TokenId>& ids) const;

  const std::string file_;
  const std::optional<TokenId> unknown_;
  const PreTokenizer pre_tokenizer_;
  const MergeTable merges_;
  // Of tokens that text can become: not control, not unknown. The last of equal ones.
  absl::flat_hash_map<std::string, TokenId> token_of_bytes_;
  std::vector<TokenId> token_of_symbol_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_BYTE_PAIR_ENCODER_H_
