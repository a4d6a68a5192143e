#include "strata/tools/context_pieces.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

std::vector<std::vector<TokenId>> CutIntoContexts(absl::Span<const TokenId> ids,
                                                  int64_t max_context, std::optional<TokenId> bos) {
  CHECK_GE(max_context, 1);
  std::vector<std::vector<TokenId>> pieces;
  while (!ids.empty()) {
    std::vector<TokenId>& piece = pieces.emplace_back();
    if (bos.has_value() && pieces.size() > 1 && max_context > 1) piece.push_back(*bos);
    const absl::Span<const TokenId> taken =
        ids.subspan(0, static_cast<size_t>(max_context) - piece.size());
    piece.insert(piece.end(), taken.begin(), taken.end());
    ids.remove_prefix(taken.size());
  }
  return pieces;
}

}  // namespace strata
