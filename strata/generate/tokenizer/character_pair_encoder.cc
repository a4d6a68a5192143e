#include "strata/generate/tokenizer/character_pair_encoder.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_replace.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
#include "strata/generate/tokenizer/merge_list.h"

namespace strata {

absl::StatusOr<std::unique_ptr<CharacterPairEncoder>> CharacterPairEncoder::Create(
    const Vocabulary& vocabulary) {
  ASSIGN_OR_RETURN(MergeTable merges,
                   MergeTable::Create(vocabulary, MergeTable::Spelling::kCharacters));
  return std::unique_ptr<CharacterPairEncoder>(
      new CharacterPairEncoder(vocabulary, std::move(merges)));
}

CharacterPairEncoder::CharacterPairEncoder(const Vocabulary& vocabulary, MergeTable merges)
    : tokens_(vocabulary), merges_(std::move(merges)) {
  for (Symbol symbol = 0; symbol < merges_.num_symbols(); ++symbol) {
    const std::string& text = merges_.BytesOf(symbol);
    if (FirstUtf8Character(text).num_bytes == text.size()) symbol_of_character_[text] = symbol;
  }
}

absl::Status CharacterPairEncoder::Encode(absl::string_view text, bool /*after_special*/,
                                          std::vector<TokenId>& ids) const {
  const std::string spelled = absl::StrReplaceAll(text, {{" ", kSentencePieceSpace}});
  for (absl::string_view rest = spelled; !rest.empty();) {
    const bool is_line_ends = rest[0] == '\n';
    const size_t end = is_line_ends ? rest.find_first_not_of('\n') : rest.find('\n');
    const absl::string_view piece = rest.substr(0, end);
    rest.remove_prefix(piece.size());
    if (is_line_ends && tokens_.Find(piece).has_value()) {
      RETURN_IF_ERROR(tokens_.Append(piece, ids));
    } else {
      RETURN_IF_ERROR(EncodePiece(piece, ids));
    }
  }
  return absl::OkStatus();
}

absl::Status CharacterPairEncoder::EncodePiece(absl::string_view piece,
                                               std::vector<TokenId>& ids) const {
  std::vector<Symbol> symbols;
  while (!piece.empty()) {
    const absl::string_view character = piece.substr(0, FirstUtf8Character(piece).num_bytes);
    piece.remove_prefix(character.size());
    if (const auto symbol = symbol_of_character_.find(character);
        symbol != symbol_of_character_.end()) {
      symbols.push_back(symbol->second);
      continue;
    }
    // It joins nothing, so what stands before it is whole.
    RETURN_IF_ERROR(AppendMerged(symbols, ids));
    RETURN_IF_ERROR(tokens_.Append(character, ids));
  }
  return AppendMerged(symbols, ids);
}

absl::Status CharacterPairEncoder::AppendMerged(std::vector<Symbol>& symbols,
                                                std::vector<TokenId>& ids) const {
  MergeList<MergeTable>(merges_).Merge(symbols);
  for (const Symbol symbol : symbols) RETURN_IF_ERROR(tokens_.Append(merges_.BytesOf(symbol), ids));
  symbols.clear();
  return absl::OkStatus();
}

}  // namespace strata
