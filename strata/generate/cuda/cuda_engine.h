// Runs a model on a GPU. A step is a graph of kernels that was recorded once for its shape; what
// changes from step to step is data in one block of pinned memory. Steps of a prompt, and all of
// more than kMaxRows rows, run on tensor cores (cuda_prompt_layers.h), where those kernels can run
// the model; else they are steps of kMaxRows rows one after the other. So the bits of a row depend
// on whether it was in such a step, and on nothing else about its step.
//
// Experts are found through the tier's table: in a slot, or in host memory that the card reads in
// place. While some are in neither, steps of few rows go one row at a time, and the host serves what
// they miss (miss_service.h); prompts bring those (LayerStream). Weights that all rows meet, keys and values, and all that steps work in are in device
// memory; the embedding stays on the host.
#ifndef STRATA_GENERATE_CUDA_CUDA_ENGINE_H_
#define STRATA_GENERATE_CUDA_CUDA_ENGINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/tier/layer_stream.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_loan.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"
#include "strata/generate/cuda/batch_answers.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/cuda/miss_service.h"
#include "strata/generate/cuda/placed_embedding.h"
#include "strata/generate/cuda/prompt_runner.h"
#include "strata/generate/cuda/prompt_step.h"
#include "strata/generate/cuda/step_graph.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/cuda/step_writer.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {

class CudaEngine : public CudaStepEngine {
 public:
  static absl::StatusOr<std::unique_ptr<CudaEngine>> Create(const CudaEngineOptions& options,
                                                            const GgufFile& file,
                                                            const ModelGraph& graph,
                                                            Device& device);
  ~CudaEngine() override;

  std::unique_ptr<SequenceState> NewSequence() override;
  absl::Status Launch(const StepBatch& batch) override;
  absl::StatusOr<const StepResult*> Finish() override;

  int64_t max_context() const override { return max_context_; }
  int64_t vocabulary() const override { return graph_.vocabulary; }
  Hardware hardware() const override;
  Counters counters() const override { return counters_; }
  int64_t kv_bytes() const override { return kv_.bytes(); }
  int64_t workspace_bytes() const override;
  int64_t prompt_batch() const override { return prompt_batch_; }

  void BeginPrompt() override;
  void EndPrompt() override;
  void FirstTokenOut() override;

  StepFigures step_figures() const override { return figures_; }
  const ExpertPlacement* experts() const override { return experts_.get(); }
  ExpertPlacement* experts() override { return experts_.get(); }
  int64_t weight_bytes() const override { return weights_->bytes(); }

 private:
  // Tokens whose keys and values get memory at start, where the context allows so many.
  static constexpr int64_t kReservedContext = 8192;

  struct Recorded {
    StepGraph graph;
    std::vector<std::string> fault_texts;
  };
  // Rows of a batch that run as one step, and what came of it.
  struct Chunk {
    absl::Span<const StepRow> rows;
    StepShape shape;
    bool is_prompt = false;
    bool may_land = false;
    bool is_served = false;  // What it misses comes from misses_, while it runs.
    std::chrono::steady_clock::time_point start;
    const std::vector<std::string>* fault_texts = nullptr;
    const std::byte* choices = nullptr;
    DeviceEvent event;
  };

  CudaEngine(const CudaEngineOptions& options, const GgufFile& file, const ModelGraph& graph,
             Device& device);

  absl::Status Prepare();
  absl::Status MakeStepMemory();
  absl::Status MakePromptStep();
  absl::Status MakeLayers();
  // Not every expert has a slot.
  bool HasMisses() const;
  // A part of the start has ended.
  void EndStartPart(std::string name);
  void TellOfMemory();
  absl::StatusOr<const Recorded*> RecordedFor(const StepShape& shape);

  absl::Status RunBatch(const StepBatch& batch);
  absl::Status LaunchChunk(const StepBatch& batch, absl::Span<const StepRow> rows);
  absl::Status LaunchRecorded(Chunk& chunk);
  bool IsPrompt(const StepBatch& batch) const;
  // One token of a text.
  bool IsDecode(const StepBatch& batch) const;
  // For a step of a prompt; null when no experts are without slots.
  LayerStream* layer_stream() const;
  absl::Status WriteBlock(absl::Span<const StepRow> rows);
  // Where experts are, as the block's step is to see it, and where those that it misses may land.
  absl::Status WritePlacement(bool may_land);
  // Waits for the chunk under way and takes what it left.
  absl::Status FinishChunk();
  absl::Status TakeAnswers(const Chunk& chunk);
  // After the last chunk.
  void EndBatch(const absl::Status& outcome);

  const CudaEngineOptions options_;
  const GgufFile& file_;
  const ModelGraph& graph_;
  Device& device_;
  const int64_t max_context_;
  const int64_t prompt_batch_;
  DeviceStream stream_;
  DeviceKv kv_;
  StepWriter writer_;
  StepBlockLayout layout_;

  PinBudget pin_budget_;
  HostMemory host_memory_;
  std::unique_ptr<DeviceWeights> weights_;
  PlacedEmbedding embedding_;
  DeviceMemory step_memory_;
  StepMemory memory_;
  PinnedMemory pinned_;  // The block, and what steps write back.
  StepOutputs outputs_;
  std::byte* block_memory_ = nullptr;
  std::unique_ptr<StepBlock> block_;
  std::unique_ptr<ExpertPlacement> experts_;
  MissService misses_;
  std::unique_ptr<CudaLayers> layers_;
  std::map<StepShape, Recorded> recorded_;
  // Null where no kernels run prompts.
  std::unique_ptr<PromptStep> prompt_;
  std::unique_ptr<PromptRunner> prompts_;

  // Of the batch under way.
  StepBatch batch_;
  bool in_prompt_ = false;  // Between BeginPrompt and EndPrompt.
  absl::Status outcome_;
  std::optional<Chunk> chunk_;
  BatchAnswers answers_;
  bool was_served_ = false;  // What it missed came from misses_.

  Counters counters_;
  StepFigures figures_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_CUDA_ENGINE_H_
