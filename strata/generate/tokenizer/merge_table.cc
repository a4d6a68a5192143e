#include "strata/generate/tokenizer/merge_table.h"

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/error.h"
#include "strata/generate/tokenizer/byte_alphabet.h"

namespace strata {

absl::StatusOr<MergeTable> MergeTable::Create(const Vocabulary& vocabulary, Spelling spelling) {
  MergeTable table;
  absl::flat_hash_map<std::string, Symbol> symbols;
  const auto symbol_of = [&](const std::string& bytes) {
    const auto [symbol, is_new] = symbols.try_emplace(bytes, table.num_symbols());
    if (is_new) table.bytes_.push_back(bytes);
    return symbol->second;
  };
  const bool is_of_bytes = spelling == Spelling::kByteAlphabet;
  for (int byte = 0; is_of_bytes && byte < 256; ++byte) {
    symbol_of(std::string(1, static_cast<char>(byte)));
  }
  const auto spell = [&](absl::string_view part) -> std::optional<std::string> {
    return is_of_bytes ? BytesOfSpelling(part) : std::string(part);
  };

  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const absl::string_view merge = vocabulary.merges[rank];
    const size_t space = merge.find(' ');
    if (space == absl::string_view::npos || space == 0 || space + 1 == merge.size() ||
        merge.find(' ', space + 1) != absl::string_view::npos) {
      return InputError("tokenizer_tokens", vocabulary.file,
                        absl::StrCat("tokenizer.ggml.merges: merge ", rank,
                                     " is not two parts with a space between"));
    }
    const std::optional<std::string> left = spell(merge.substr(0, space));
    const std::optional<std::string> right = spell(merge.substr(space + 1));
    // Text never holds what the byte alphabet cannot spell.
    if (!left || !right) continue;
    const std::pair<Symbol, Symbol> pair = {symbol_of(*left), symbol_of(*right)};
    table.merges_.try_emplace(pair,
                              Joined<Part>{static_cast<uint32_t>(rank), symbol_of(*left + *right)});
  }
  return table;
}

}  // namespace strata
