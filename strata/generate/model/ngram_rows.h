// Which rows of a table of n-grams the last few tokens of a text choose.
#ifndef STRATA_GENERATE_MODEL_NGRAM_ROWS_H_
#define STRATA_GENERATE_MODEL_NGRAM_ROWS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// `tokens` are num_tokens of a text, the newest first; what lies before the text is the end token.
// `rows` holds one for each of the heads. An n-gram's hash is the xor of its first n tokens, each
// times its multiplier; a token behind which there is an end token reads as one itself, but the
// newest, be it one, hides nothing.
void NgramRows(const NgramEmbedding& ngrams, absl::Span<const int32_t> tokens,
               absl::Span<int64_t> rows);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_NGRAM_ROWS_H_
