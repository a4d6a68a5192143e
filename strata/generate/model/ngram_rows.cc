#include "strata/generate/model/ngram_rows.h"

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

void NgramRows(const NgramEmbedding& ngrams, absl::Span<const int32_t> tokens,
               absl::Span<int64_t> rows) {
  CHECK_EQ(tokens.size(), static_cast<size_t>(ngrams.num_tokens));
  CHECK_EQ(rows.size(), ngrams.heads.size());
  const auto token_at = [&](int32_t token, size_t back) {
    return static_cast<uint64_t>(static_cast<uint32_t>(token)) * ngrams.multipliers[back];
  };
  const size_t heads_per_ngram = rows.size() / (tokens.size() - 1);
  uint64_t hash = token_at(tokens[0], 0);
  size_t next = 0;
  bool is_hidden = false;
  for (size_t back = 1; back < tokens.size(); ++back) {
    is_hidden = is_hidden || tokens[back] == ngrams.end_token;
    hash ^= token_at(is_hidden ? ngrams.end_token : tokens[back], back);
    for (const size_t end = next + heads_per_ngram; next < end; ++next) {
      const NgramEmbedding::Head& head = ngrams.heads[next];
      rows[next] = static_cast<int64_t>(head.first_row + hash % head.num_rows);
    }
  }
}

}  // namespace strata
