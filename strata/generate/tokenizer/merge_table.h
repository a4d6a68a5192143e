// The ranked merges of a byte-pair vocabulary.
//
// A symbol is a string of bytes that merging can reach: 0 to 255 are the single bytes, where merges
// are of bytes, more come from the merges. A symbol need not be a token: files with parts that are in no vocabulary exist,
// and merging goes through them all the same. Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_MERGE_TABLE_H_
#define STRATA_GENERATE_TOKENIZER_MERGE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "strata/generate/tokenizer/merge_list.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {

class MergeTable {
 public:
  using Symbol = int32_t;
  using Part = Symbol;  // As a Rule of MergeList. A rank is a place in the list of merges.

  // What the two parts of a merge are written in. Of characters, only those in merges are symbols.
  enum class Spelling { kByteAlphabet, kCharacters };

  // tokenizer_tokens if a merge is not two spellings with a space between.
  static absl::StatusOr<MergeTable> Create(const Vocabulary& vocabulary, Spelling spelling);

  // Nothing if the two never merge.
  std::optional<Joined<Part>> Find(Symbol left, Symbol right) const {
    const auto merge = merges_.find({left, right});
    if (merge == merges_.end()) return std::nullopt;
    return merge->second;
  }
  const std::string& BytesOf(Symbol symbol) const { return bytes_[symbol]; }
  int32_t num_symbols() const { return static_cast<int32_t>(bytes_.size()); }

 private:
  MergeTable() = default;

  std::vector<std::string> bytes_;
  absl::flat_hash_map<std::pair<Symbol, Symbol>, Joined<Part>> merges_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_MERGE_TABLE_H_
