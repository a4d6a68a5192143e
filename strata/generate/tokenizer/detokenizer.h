// Turns ids into text as they come, never showing half a character.
//
// Bytes that begin a character wait for its end; a byte that can belong to no character becomes
// U+FFFD. So everything returned is valid UTF-8, and all of it together is the decoded text.
// Thread-compatible.
#ifndef STRATA_GENERATE_TOKENIZER_DETOKENIZER_H_
#define STRATA_GENERATE_TOKENIZER_DETOKENIZER_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

class Detokenizer {
 public:
  struct Options {
    // The ids are a whole text's: spaces that Encode put before it, and after special tokens, go.
    // An answer that continues a prompt keeps its first space.
    bool drops_space_prefix = false;
    // Control tokens appear by their names.
    bool shows_control = false;
  };

  // `tokenizer` outlives the object.
  Detokenizer(const Tokenizer& tokenizer, const Options& options);

  // What `id`, a token of the vocabulary, completes; may be empty.
  std::string Add(TokenId id);
  // The end: U+FFFD for each byte that still waited.
  std::string Finish();

 private:
  // Moves from `pending_` what is complete; all of it at the end of a text.
  std::string TakeComplete(bool at_end);

  const Tokenizer& tokenizer_;
  const bool shows_control_;
  const bool drops_space_prefix_;
  bool is_after_special_ = true;
  std::string pending_;  // Fewer than 4 bytes between calls.
};

// The text of `ids`: the inverse of Tokenizer::Encode, so a BOS and an EOS that it adds are left
// out, and other control tokens are shown.
std::string Decode(const Tokenizer& tokenizer, absl::Span<const TokenId> ids);

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_DETOKENIZER_H_
