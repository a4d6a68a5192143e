// Which patterns each value of `tokenizer.ggml.pre` stands for.
#ifndef STRATA_GENERATE_TOKENIZER_PRE_TOKENIZER_TABLE_H_
#define STRATA_GENERATE_TOKENIZER_PRE_TOKENIZER_TABLE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

struct PreTokenizerRow {
  std::vector<absl::string_view> names;
  std::vector<absl::string_view>
      patterns;  // Applied in turn, each to the pieces of the one before.
  bool ignores_merges = false;
  bool adds_bos = false;
};

absl::Span<const PreTokenizerRow> PreTokenizerTable();

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_PRE_TOKENIZER_TABLE_H_
