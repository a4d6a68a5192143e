// Finds the texts of special tokens in a text: longest first, wherever it stands; equal lengths
// from left to right; what is taken is not looked at again.
//
// Texts are compared as bytes. Time is linear in the text, times the length of the longest special
// token at worst. Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_SPECIAL_TOKEN_FINDER_H_
#define STRATA_GENERATE_TOKENIZER_SPECIAL_TOKEN_FINDER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

class SpecialTokenFinder {
 public:
  struct Occurrence {
    size_t start;
    size_t num_bytes;
    TokenId id;
  };

  SpecialTokenFinder();

  // An empty text is never found. Of equal texts the last one added counts.
  void Add(absl::string_view text, TokenId id);

  // In the order of the text; they do not overlap.
  std::vector<Occurrence> FindAll(absl::string_view text) const;

 private:
  static constexpr TokenId kNoToken = -1;

  // The longest token that starts at `start` and has at most `max_bytes`; num_bytes 0 if none does.
  Occurrence Longest(absl::string_view text, size_t start, size_t max_bytes) const;

  // A trie of the texts: nodes are numbers, 0 the root.
  absl::flat_hash_map<std::pair<int32_t, char>, int32_t> children_;
  std::vector<TokenId> token_at_;  // Of each node.
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_SPECIAL_TOKEN_FINDER_H_
