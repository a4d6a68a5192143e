// A step, one forward pass over a batch of rows: what an engine is asked, and what it answers.
//
// A row is one token at one position of one sequence. All that a step needs is in its batch, as
// data; nothing is derived from how many rows there are. No bit of a row's answer depends on the
// other rows.
#ifndef STRATA_GENERATE_ENGINE_STEP_H_
#define STRATA_GENERATE_ENGINE_STEP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/sampling/sampler.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

class SequenceState;

// As a row's token: what the sequence drew in the step before. So a step can be launched before the
// host knows its token.
inline constexpr TokenId kLastDrawn = -1;

// After a row, the next token is drawn from its logits. Borrowed.
struct Draw {
  Sampler* sampler = nullptr;
  // The sequence's ids up to the row's token, whose number is the position of the draw.
  absl::Span<const TokenId> context;
};

struct StepRow {
  TokenId token = 0;     // Of the vocabulary, or kLastDrawn.
  int64_t position = 0;  // In the context that the engine was made for.
  SequenceState* sequence = nullptr;
  bool wants_logits = false;
  Draw draw = {};  // Without a sampler nothing is drawn.
};

// Borrowed until the step has finished.
struct StepBatch {
  // At least one. Rows of a sequence follow each other: the first at state.position(), the others
  // at the positions after it.
  absl::Span<const StepRow> rows;
  bool wants_hidden = false;
  // Asked between layers, on the engine's thread: true ends the step with kCancelled. May be null.
  const std::function<bool()>* should_stop = nullptr;
};

// Which experts the rows went to.
struct StepRouting {
  int num_rows = 0;
  int num_chosen = 0;  // For each row, in each layer that has experts.
  // Indices within the layer: for each such layer of the model in turn, each row, each rank. Of a
  // step that failed only the layers that it came to.
  std::vector<uint16_t> experts;

  int num_layers() const {
    return num_rows == 0 || num_chosen == 0
               ? 0
               : static_cast<int>(experts.size()) / (num_rows * num_chosen);
  }
  // Of all rows in turn. `layer` counts the layers that have experts.
  absl::Span<const uint16_t> ChosenOfLayer(int layer) const {
    const size_t count = size_t(num_rows) * size_t(num_chosen);
    return absl::MakeConstSpan(experts).subspan(size_t(layer) * count, count);
  }
  // Of one row, best first.
  absl::Span<const uint16_t> Chosen(int layer, int row) const {
    return ChosenOfLayer(layer).subspan(size_t(row) * size_t(num_chosen), size_t(num_chosen));
  }
};

// Views are of the engine's memory.
struct StepResult {
  std::vector<absl::Span<const float>> logits;  // Of the rows that want them, in their order.
  // Of all rows: the state after the output norm. Empty unless the batch wants it.
  std::vector<absl::Span<const float>> hidden;
  std::vector<TokenId> drawn;  // By the rows that draw, in their order.
  StepRouting routing;
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_STEP_H_
