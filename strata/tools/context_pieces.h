// A text's tokens, cut into pieces that each fit a context of their own.
#ifndef STRATA_TOOLS_CONTEXT_PIECES_H_
#define STRATA_TOOLS_CONTEXT_PIECES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

// Pieces of `max_context` tokens, the last one shorter. With `bos`, which `ids` begin with already,
// each further piece begins with it too; a context of a single token has no room for that.
std::vector<std::vector<TokenId>> CutIntoContexts(absl::Span<const TokenId> ids,
                                                  int64_t max_context, std::optional<TokenId> bos);

}  // namespace strata

#endif  // STRATA_TOOLS_CONTEXT_PIECES_H_
