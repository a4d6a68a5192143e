// Runs a model on the CPU. Weights are used where they lie in the mapped file; a step has ended
// when Launch returns. The number of threads and how rows are put together into steps change no bit
// (docs/design/generate.md).
//
// `file` and `graph` outlive the engine.
#ifndef STRATA_GENERATE_CPU_CPU_ENGINE_H_
#define STRATA_GENERATE_CPU_CPU_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/cpu_layers.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/recurrent_pool.h"
#include "strata/generate/cpu/step_observer.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class CpuEngine : public Engine {
 public:
  // `experts` outlives the engine; null: they are used in the mapping.
  CpuEngine(const GgufFile& file, const ModelGraph& graph, const EngineOptions& options,
            ExpertWeights* experts = nullptr);

  std::unique_ptr<SequenceState> NewSequence() override;
  absl::Status Launch(const StepBatch& batch) override;
  absl::StatusOr<const StepResult*> Finish() override;

  int64_t max_context() const override { return max_context_; }
  int64_t vocabulary() const override { return graph_.vocabulary; }
  Hardware hardware() const override;
  Counters counters() const override;
  int64_t kv_bytes() const override { return kv_pool_.bytes(); }
  int64_t recurrent_bytes() const override {
    return recurrent_pool_.bytes() - recurrent_pool_.snapshot_bytes();
  }
  int64_t snapshot_bytes() const override { return recurrent_pool_.snapshot_bytes(); }
  int64_t workspace_bytes() const override { return layers_.workspace_bytes(); }

  int64_t prompt_batch() const override { return prompt_batch_; }
  void BeginPrompt() override;
  void EndPrompt() override;
  void FirstTokenOut() override { experts_.FirstTokenOut(); }

  // May be null; outlives its use.
  void set_observer(StepObserver* observer) { layers_.set_observer(observer); }

 private:
  void TakeRows(const StepBatch& batch);
  void BeginSequence(const StepBatch& batch, size_t first_row);
  void EndSequences(const StepBatch& batch);
  absl::Status RunStep(const StepBatch& batch);
  absl::Status TakeResult(const StepBatch& batch);

  const GgufFile& file_;
  const ModelGraph& graph_;
  const int64_t max_context_;
  const int64_t prompt_batch_;
  ThreadPool pool_;
  KvPool kv_pool_;
  RecurrentPool recurrent_pool_;
  MappedExperts mapped_experts_;
  ExpertWeights& experts_;
  CpuLayers layers_;
  bool is_in_prompt_ = false;
  std::vector<CpuRow> rows_;
  absl::Status outcome_;  // Of the step that was launched.
  StepResult result_;
  int64_t num_routed_ = 0;
};

// Keys and values of each layer.
std::vector<KvShape> KvShapes(const ModelGraph& graph);
// Values of the recurrent state of each layer, and behind them those of the table of n-grams, if
// there is one.
std::vector<int64_t> RecurrentValues(const ModelGraph& graph);

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_CPU_ENGINE_H_
