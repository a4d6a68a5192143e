// A model opened for text: its file, its engine and its tokenizer.
#ifndef STRATA_GENERATE_LOADING_TEXT_MODEL_H_
#define STRATA_GENERATE_LOADING_TEXT_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/device.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/start_times.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"
#include "strata/generate/placement/placed_experts.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

class TextModel {
 public:
  struct Counters {
    Engine::Counters engine;
    TierCounters tier;  // All zero without one.
  };

  // kAuto: a GPU where one can be used for the model, else the CPU; the log says which and why.
  enum class ComputesOn { kAuto, kCpu, kCuda };
  static std::optional<ComputesOn> ParseComputesOn(absl::string_view name);

  struct Options {
    EngineOptions engine;
    ExpertPlacement::Options experts;
    // Otherwise the CPU uses experts in the mapping, and there is no tier.
    bool places_experts = true;
    ComputesOn device = ComputesOn::kCpu;
    int64_t vram_limit = 0;  // Bytes of GPU memory that may be used; 0: all.
  };

  // The errors of GgufFile, BindModel, LoadTokenizer, ExpertPlacement and CreateCudaEngine; kind
  // tokenizer_ids when the tokenizer has more tokens than the model. Shows progress on stderr while
  // the file is read into memory and slots are filled.
  static absl::StatusOr<std::unique_ptr<TextModel>> Open(const std::string& path,
                                                         const Options& options);

  const GgufFile& file() const { return *file_; }
  const ModelGraph& graph() const { return graph_; }
  Engine& engine() { return *engine_; }
  const Engine& engine() const { return *engine_; }
  // Null without a tier, as for a model without experts.
  ExpertPlacement* experts() { return experts_; }
  const ExpertPlacement* experts() const { return experts_; }
  // Null unless a GPU computes.
  CudaStepEngine* cuda() { return cuda_; }
  const CudaStepEngine* cuda() const { return cuda_; }
  // That has the slots: the GPU, or the host's own memory; null without a tier on the CPU.
  Device* device() { return device_.get(); }
  // Of Open.
  const StartTimes& start_times() const { return start_times_; }
  // Since it was opened.
  Counters counters() const;
  // Once, at the end of a run: what was recorded of it gets its name.
  absl::Status FinishTrace();
  // Null when the file has no tokenizer: such a model takes and gives ids alone.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  // The tokenizer, or an error of kind tokenizer_missing.
  absl::StatusOr<const Tokenizer*> NeedTokenizer() const;

 private:
  TextModel() = default;
  absl::Status StartEngine(const Options& options);
  absl::Status StartOnCpu(const Options& options);
  absl::Status StartOnCuda(const Options& options);

  StartTimes start_times_;
  std::unique_ptr<GgufFile> file_;
  std::unique_ptr<Tokenizer> tokenizer_;
  ModelGraph graph_;
  std::unique_ptr<Device> device_;  // That has the slots.
  // With the CPU's engine.
  std::unique_ptr<ExpertPlacement> placement_;
  std::unique_ptr<PlacedExperts> placed_;
  std::unique_ptr<Engine> engine_;
  ExpertPlacement* experts_ = nullptr;  // The engine's, whichever that is.
  CudaStepEngine* cuda_ = nullptr;      // The engine, if it is that.
};

}  // namespace strata

#endif  // STRATA_GENERATE_LOADING_TEXT_MODEL_H_
