#include "strata/generate/engine/sequence.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

void Sequence::AppendRows(absl::Span<const TokenId> tokens, const FeedOptions& options,
                          std::vector<StepRow>& rows) {
  CHECK(!tokens.empty());
  const int64_t first_position = position();
  CHECK_LE(first_position + static_cast<int64_t>(tokens.size()), engine_.max_context());
  // Ids of a step that failed, or that were rewound, are not part of the text.
  ids_.resize(static_cast<size_t>(first_position));
  ids_.insert(ids_.end(), tokens.begin(), tokens.end());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_last = i + 1 == tokens.size();
    StepRow& row = rows.emplace_back();
    row.token = tokens[i];
    row.position = first_position + static_cast<int64_t>(i);
    row.sequence = state_.get();
    row.wants_logits = options.logits == Want::kAll || (is_last && options.logits == Want::kLast);
    if (is_last && options.draws) row.draw = {.sampler = &sampler_, .context = ids_};
  }
}

absl::StatusOr<const StepResult*> Sequence::Feed(absl::Span<const TokenId> tokens,
                                                 const FeedOptions& options,
                                                 const std::function<bool()>* should_stop) {
  rows_.clear();
  AppendRows(tokens, options, rows_);
  return engine_.Run({.rows = rows_, .should_stop = should_stop});
}

}  // namespace strata
