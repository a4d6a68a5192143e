#include "strata/generate/cuda/batch_answers.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/tier/landing.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

// A copy of so many values at the end of the first `count` vectors.
void Append(const float* values, int64_t size, std::vector<std::vector<float>>& vectors,
            size_t& count) {
  if (vectors.size() == count) vectors.emplace_back();
  vectors[count++].assign(values, values + size);
}

std::vector<absl::Span<const float>> FirstOf(const std::vector<std::vector<float>>& vectors,
                                             size_t count) {
  return {vectors.begin(), vectors.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

BatchAnswers::BatchAnswers(const ModelGraph& graph)
    : graph_(graph), choices_(graph.experts.layers().size()) {}

void BatchAnswers::Clear() {
  result_.drawn.clear();
  num_logits_ = num_hidden_ = 0;
  for (std::vector<uint16_t>& choices : choices_) choices.clear();
  landed_.clear();
}

absl::Status BatchAnswers::Take(absl::Span<const StepRow> rows, bool has_hidden,
                                const StepOutputs& outputs, const std::byte* choices) {
  const auto num_rows = static_cast<int>(rows.size());
  TakeChoices(num_rows, choices);
  int wanted = 0;
  for (const StepRow& row : rows) {
    if (!WantsOutput(row)) continue;
    RETURN_IF_ERROR(Draw(row, wanted, outputs));
    if (row.wants_logits) {
      Append(outputs.logits + wanted * graph_.vocabulary, graph_.vocabulary, logits_, num_logits_);
    }
    ++wanted;
  }
  for (int row = 0; has_hidden && row < num_rows; ++row) {
    Append(outputs.hidden_states + row * graph_.width, graph_.width, hidden_, num_hidden_);
  }
  return absl::OkStatus();
}

absl::Status BatchAnswers::Draw(const StepRow& row, int wanted_index, const StepOutputs& outputs) {
  if (row.draw.sampler == nullptr) return absl::OkStatus();
  TokenId token = outputs.result->drawn[wanted_index];
  if (!DrawsOnDevice(row)) {
    const absl::Span<const float> logits(outputs.logits + wanted_index * graph_.vocabulary,
                                         static_cast<size_t>(graph_.vocabulary));
    ASSIGN_OR_RETURN(token, row.draw.sampler->Sample(logits, row.draw.context));
  }
  SequenceOf(row).last_drawn = token;
  result_.drawn.push_back(token);
  return absl::OkStatus();
}

void BatchAnswers::TakeChoices(int num_rows, const std::byte* choices) {
  const auto* from = reinterpret_cast<const int32_t*>(choices);
  const int64_t count = NumChoices(graph_, num_rows);
  for (std::vector<uint16_t>& of_layer : choices_) {
    of_layer.insert(of_layer.end(), from, from + count);
    from += count;
  }
}

void BatchAnswers::TakeLandings(const std::byte* landed, int max_offers) {
  const auto* const count = reinterpret_cast<const DeviceLandingCount*>(landed);
  const auto* const landings = reinterpret_cast<const Landing*>(count + 1);
  CHECK(0 <= count->count && count->count <= max_offers) << count->count;
  landed_.assign(landings, landings + count->count);
}

const StepRouting& BatchAnswers::EndBatch(int num_rows, bool ok) {
  StepRouting& routing = result_.routing;
  routing.num_rows = num_rows;
  routing.num_chosen = graph_.experts.num_used();
  routing.experts.clear();
  if (!ok) {
    // Steps may have come to some of its rows alone.
    landed_.clear();
    return routing;
  }
  for (const std::vector<uint16_t>& choices : choices_) {
    routing.experts.insert(routing.experts.end(), choices.begin(), choices.end());
  }
  return routing;
}

const StepResult* BatchAnswers::Collect() {
  result_.logits = FirstOf(logits_, num_logits_);
  result_.hidden = FirstOf(hidden_, num_hidden_);
  return &result_;
}

}  // namespace strata
