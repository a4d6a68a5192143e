#include "strata/generate/cpu/cpu_engine.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/delta_net_block.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/latent_attention_block.h"
#include "strata/generate/cpu/ngram_block.h"
#include "strata/generate/cpu/recurrent_pool.h"
#include "strata/generate/cpu/recurrent_state.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/cpu/self_attention_block.h"
#include "strata/generate/cpu/short_convolution_block.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/run_layers.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

class CpuSequence : public SequenceState {
 public:
  CpuSequence(KvPool& kv_pool, RecurrentPool& recurrent_pool)
      : kv(kv_pool), recurrent(recurrent_pool) {}

  int64_t position() const override { return recurrent.position(); }
  int64_t Rewind(int64_t position) override {
    kv.SetSize(recurrent.Rewind(position));
    return recurrent.position();
  }

  KvState kv;
  RecurrentState recurrent;
  TokenId last_drawn = 0;
};

CpuSequence& Of(const StepRow& row) { return *static_cast<CpuSequence*>(row.sequence); }

}  // namespace

std::vector<KvShape> KvShapes(const ModelGraph& graph) {
  std::vector<KvShape> shapes;
  for (const Layer& layer : graph.layers) {
    shapes.push_back(std::visit([](const auto& mixer) { return KvShapeOf(mixer); }, layer.mixer));
  }
  return shapes;
}

std::vector<int64_t> RecurrentValues(const ModelGraph& graph) {
  std::vector<int64_t> values;
  for (const Layer& layer : graph.layers) {
    values.push_back(
        std::visit([](const auto& mixer) { return RecurrentValuesOf(mixer); }, layer.mixer));
  }
  if (graph.ngrams.has_value()) values.push_back(RecurrentValuesOf(*graph.ngrams));
  return values;
}

CpuEngine::CpuEngine(const GgufFile& file, const ModelGraph& graph, const EngineOptions& options,
                     ExpertWeights* experts)
    : file_(file),
      graph_(graph),
      max_context_(options.max_context > 0 ? options.max_context : graph.context_length),
      prompt_batch_(options.prompt_batch > 0 ? options.prompt_batch : kCpuPromptBatch),
      pool_(options.num_threads),
      kv_pool_(options.kv_type, KvShapes(graph)),
      recurrent_pool_(RecurrentValues(graph), options.snapshot_bytes),
      mapped_experts_(file, graph.experts),
      experts_(experts == nullptr ? mapped_experts_ : *experts),
      layers_(graph, pool_, experts_) {}

std::unique_ptr<SequenceState> CpuEngine::NewSequence() {
  return std::make_unique<CpuSequence>(kv_pool_, recurrent_pool_);
}

Engine::Hardware CpuEngine::hardware() const {
  return {
      .kind = "cpu", .name = std::string(NameOf(CurrentIsa())), .num_threads = pool_.num_threads()};
}

Engine::Counters CpuEngine::counters() const {
  return {.routed = num_routed_,
          .expert_bytes = layers_.expert_bytes(),
          .table_rows = layers_.table_rows()};
}

void CpuEngine::BeginPrompt() {
  is_in_prompt_ = true;
  layers_.UseMemory(experts_.BeginPrompt());
}

void CpuEngine::EndPrompt() {
  is_in_prompt_ = false;
  layers_.UseMemory({});
  experts_.EndPrompt();
}

absl::Status CpuEngine::Launch(const StepBatch& batch) {
  TakeRows(batch);
  experts_.BeginStep();
  outcome_ = RunStep(batch);
  num_routed_ += static_cast<int64_t>(layers_.routing().experts.size());
  experts_.EndStep(outcome_, batch.rows, layers_.routing());
  EndSequences(batch);
  return absl::OkStatus();
}

absl::StatusOr<const StepResult*> CpuEngine::Finish() {
  RETURN_IF_ERROR(outcome_);
  return &result_;
}

void CpuEngine::TakeRows(const StepBatch& batch) {
  CHECK(!batch.rows.empty());
  rows_.clear();
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const StepRow& row = batch.rows[i];
    CpuSequence& sequence = Of(row);
    const bool follows = i > 0 && batch.rows[i - 1].sequence == row.sequence;
    CHECK_EQ(row.position, follows ? rows_.back().position + 1 : sequence.position());
    CHECK_LT(row.position, max_context_);
    if (!follows) BeginSequence(batch, i);
    rows_.push_back({.token = row.token == kLastDrawn ? sequence.last_drawn : row.token,
                     .position = row.position,
                     .kv = &sequence.kv,
                     .recurrent = &sequence.recurrent,
                     .snapshot = sequence.recurrent.SnapshotAfter(row.position),
                     .wants_output = row.wants_logits || row.draw.sampler != nullptr});
  }
}

void CpuEngine::BeginSequence(const StepBatch& batch, size_t first_row) {
  size_t last_row = first_row;
  while (last_row + 1 < batch.rows.size() &&
         batch.rows[last_row + 1].sequence == batch.rows[first_row].sequence) {
    ++last_row;
  }
  const StepRow& last = batch.rows[last_row];
  const bool is_answered = last.wants_logits || last.draw.sampler != nullptr;
  CpuSequence& sequence = Of(last);
  sequence.kv.Reserve(last.position + 1);
  sequence.recurrent.Begin(last.position + 1,
                           /*ends_prompt=*/is_answered && (is_in_prompt_ || last_row > first_row));
}

void CpuEngine::EndSequences(const StepBatch& batch) {
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    if (!IsLastOfSequence(rows_, i)) continue;
    CpuSequence& sequence = Of(batch.rows[i]);
    if (outcome_.ok()) {
      sequence.recurrent.Commit();
      sequence.kv.SetSize(batch.rows[i].position + 1);
    } else {
      sequence.recurrent.Abandon();
    }
  }
}

absl::Status CpuEngine::RunStep(const StepBatch& batch) {
  layers_.Begin(
      {.rows = rows_, .wants_hidden = batch.wants_hidden, .should_stop = batch.should_stop});
  absl::Status status = RunLayers(graph_, layers_);
  if (status.ok()) status = TakeResult(batch);
  // Bytes that went missing while they were read explain whatever else went wrong.
  RETURN_IF_ERROR(file_.CheckUnchanged());
  RETURN_IF_ERROR(experts_.CheckUnchanged());
  return status.ok() || absl::IsCancelled(status) ? status : WithFile(status, file_.path());
}

absl::Status CpuEngine::TakeResult(const StepBatch& batch) {
  result_.logits.clear();
  result_.hidden.clear();
  result_.drawn.clear();
  int64_t output = 0;
  for (const StepRow& row : batch.rows) {
    if (!row.wants_logits && row.draw.sampler == nullptr) continue;
    const absl::Span<const float> logits = layers_.logits().row(output++);
    if (row.wants_logits) result_.logits.push_back(logits);
    if (row.draw.sampler == nullptr) continue;
    ASSIGN_OR_RETURN(const TokenId token, row.draw.sampler->Sample(logits, row.draw.context));
    result_.drawn.push_back(token);
    Of(row).last_drawn = token;
  }
  for (int64_t i = 0; i < layers_.hidden().count(); ++i) {
    result_.hidden.push_back(layers_.hidden().row(i));
  }
  result_.routing = layers_.routing();
  return absl::OkStatus();
}

}  // namespace strata
