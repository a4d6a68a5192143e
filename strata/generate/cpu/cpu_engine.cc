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
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/cpu/self_attention_block.h"
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
  explicit CpuSequence(KvPool& pool) : kv(pool) {}

  int64_t position() const override { return kv.size(); }
  int64_t Rewind(int64_t position) override {
    CHECK(0 <= position && position <= kv.size()) << position;
    kv.SetSize(position);
    return position;
  }

  KvState kv;
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

CpuEngine::CpuEngine(const GgufFile& file, const ModelGraph& graph, const EngineOptions& options,
                     ExpertWeights* experts)
    : file_(file),
      graph_(graph),
      max_context_(options.max_context > 0 ? options.max_context : graph.context_length),
      pool_(options.num_threads),
      kv_pool_(options.kv_type, KvShapes(graph)),
      mapped_experts_(file, graph.experts),
      experts_(experts == nullptr ? mapped_experts_ : *experts),
      layers_(graph, pool_, experts_) {}

std::unique_ptr<SequenceState> CpuEngine::NewSequence() {
  return std::make_unique<CpuSequence>(kv_pool_);
}

Engine::Hardware CpuEngine::hardware() const {
  return {
      .kind = "cpu", .name = std::string(NameOf(CurrentIsa())), .num_threads = pool_.num_threads()};
}

Engine::Counters CpuEngine::counters() const {
  return {.routed = num_routed_, .expert_bytes = layers_.expert_bytes()};
}

void CpuEngine::EndPrompt() {
  layers_.UseMemory({});
  experts_.EndPrompt();
}

absl::Status CpuEngine::Launch(const StepBatch& batch) {
  TakeRows(batch);
  experts_.BeginStep();
  outcome_ = RunStep(batch);
  num_routed_ += static_cast<int64_t>(layers_.routing().experts.size());
  experts_.EndStep(outcome_, batch.rows, layers_.routing());
  if (!outcome_.ok()) return absl::OkStatus();
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const StepRow& row = batch.rows[i];
    const bool is_last = i + 1 == batch.rows.size() || batch.rows[i + 1].sequence != row.sequence;
    if (is_last) Of(row).kv.SetSize(row.position + 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<const StepResult*> CpuEngine::Finish() {
  RETURN_IF_ERROR(outcome_);
  return &result_;
}

void CpuEngine::TakeRows(const StepBatch& batch) {
  CHECK(!batch.rows.empty());
  rows_.clear();
  const SequenceState* previous = nullptr;
  for (const StepRow& row : batch.rows) {
    CpuSequence& sequence = Of(row);
    const bool follows = row.sequence == previous;
    CHECK_EQ(row.position, follows ? rows_.back().position + 1 : sequence.position());
    CHECK_LT(row.position, max_context_);
    previous = row.sequence;
    sequence.kv.Reserve(row.position + 1);
    rows_.push_back({.token = row.token == kLastDrawn ? sequence.last_drawn : row.token,
                     .position = row.position,
                     .kv = &sequence.kv,
                     .wants_output = row.wants_logits || row.draw.sampler != nullptr});
  }
}

absl::Status CpuEngine::RunStep(const StepBatch& batch) {
  layers_.Begin(
      {.rows = rows_, .wants_hidden = batch.wants_hidden, .should_stop = batch.should_stop});
  absl::Status status = RunLayers(graph_, layers_);
  if (status.ok()) status = TakeResult(batch);
  // Bytes that went missing while they were read explain whatever else went wrong.
  RETURN_IF_ERROR(file_.CheckUnchanged());
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
