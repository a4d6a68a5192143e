// How the text of a byte-pair vocabulary is cut into pieces before merging, chosen by the value of
// `tokenizer.ggml.pre`.
//
// The patterns are those of the models' own tokenizers (their published tokenizer.json or
// tokenization code); pre_tokenizer.cc holds them as a table that can be read against the source.
// Immutable; Thread-safe.
#ifndef STRATA_GENERATE_TOKENIZER_PRE_TOKENIZER_H_
#define STRATA_GENERATE_TOKENIZER_PRE_TOKENIZER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/split_pattern.h"

namespace strata {

class PreTokenizer {
 public:
  // Nothing if `name` is unknown. "default" is what a file without the key means.
  static std::optional<PreTokenizer> ForName(absl::string_view name);
  // All names, sorted.
  static std::vector<std::string> Names();

  // A piece that is a token as a whole is taken before any merge.
  bool ignores_merges() const { return ignores_merges_; }
  // What `tokenizer.ggml.add_bos_token` is when the file does not say.
  bool adds_bos() const { return adds_bos_; }

  // The pieces of `text`, which is valid UTF-8: views that together are the whole text.
  std::vector<absl::string_view> Split(absl::string_view text) const;

 private:
  PreTokenizer() = default;

  bool ignores_merges_ = false;
  bool adds_bos_ = false;
  std::vector<SplitPattern> patterns_;  // Each cuts the pieces of the one before.
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_PRE_TOKENIZER_H_
