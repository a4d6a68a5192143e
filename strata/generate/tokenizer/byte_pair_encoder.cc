#include "strata/generate/tokenizer/byte_pair_encoder.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/generate/tokenizer/byte_alphabet.h"
#include "strata/generate/tokenizer/merge_list.h"

namespace strata {
absl::StatusOr<std::unique_ptr<BytePairEncoder>> BytePairEncoder::Create(
    const Vocabulary& vocabulary, PreTokenizer pre_tokenizer) {
  ASSIGN_OR_RETURN(MergeTable merges,
                   MergeTable::Create(vocabulary, MergeTable::Spelling::kByteAlphabet));
  return std::unique_ptr<BytePairEncoder>(
      new BytePairEncoder(vocabulary, std::move(pre_tokenizer), std::move(merges)));
}

BytePairEncoder::BytePairEncoder(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer,
                                 MergeTable merges)
    : file_(vocabulary.file),
      unknown_(vocabulary.UnknownId()),
      pre_tokenizer_(std::move(pre_tokenizer)),
      merges_(std::move(merges)) {
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const TokenType type = vocabulary.TypeOf(static_cast<TokenId>(id));
    if (type == TokenType::kControl || type == TokenType::kUnknown) continue;
    std::optional<std::string> bytes = BytesOfSpelling(vocabulary.tokens[id]);
    if (bytes) token_of_bytes_[*std::move(bytes)] = static_cast<TokenId>(id);
  }
  token_of_symbol_.reserve(merges_.num_symbols());
  for (Symbol symbol = 0; symbol < merges_.num_symbols(); ++symbol) {
    const auto token = token_of_bytes_.find(merges_.BytesOf(symbol));
    token_of_symbol_.push_back(token == token_of_bytes_.end() ? kNoToken : token->second);
  }
}

absl::Status BytePairEncoder::Encode(absl::string_view text, bool /*after_special*/,
                                     std::vector<TokenId>& ids) const {
  MergeList<MergeTable> merge_list(merges_);
  std::vector<Symbol> symbols;
  for (const absl::string_view piece : pre_tokenizer_.Split(text)) {
    if (pre_tokenizer_.ignores_merges()) {
      if (const auto token = token_of_bytes_.find(piece); token != token_of_bytes_.end()) {
        ids.push_back(token->second);
        continue;
      }
    }
    symbols.clear();
    for (const char byte : piece) symbols.push_back(static_cast<uint8_t>(byte));
    merge_list.Merge(symbols);
    for (const Symbol symbol : symbols) {
      RETURN_IF_ERROR(AppendSymbol(symbol, ids));
    }
  }
  return absl::OkStatus();
}

absl::Status BytePairEncoder::AppendSymbol(Symbol symbol, std::vector<TokenId>& ids) const {
  if (token_of_symbol_[symbol] != kNoToken) {
    ids.push_back(token_of_symbol_[symbol]);
    return absl::OkStatus();
  }
  for (const char byte : merges_.BytesOf(symbol)) {
    const TokenId token = token_of_symbol_[static_cast<uint8_t>(byte)];
    if (token == kNoToken && !unknown_) {
      return InputError("tokenizer_tokens", file_,
                        absl::StrFormat("tokenizer.ggml.tokens: there is no token for byte 0x%02x",
                                        static_cast<uint8_t>(byte)));
    }
    ids.push_back(token == kNoToken ? *unknown_ : token);
  }
  return absl::OkStatus();
}

}  // namespace strata
