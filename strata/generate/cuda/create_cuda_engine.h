// An engine on a GPU of this machine. The header exists in every build; without a CUDA toolkit at
// build time the function is an error that says so.
#ifndef STRATA_GENERATE_CUDA_CREATE_CUDA_ENGINE_H_
#define STRATA_GENERATE_CUDA_CREATE_CUDA_ENGINE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "strata/core/device.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/engine/start_times.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {

// An engine that tells what its steps are made of.
class CudaStepEngine : public Engine {
 public:
  struct StepFigures {
    int64_t num_steps = 0;  // Replays of a recorded step.
    double host_ms = 0;     // The host's time in them, waits for the GPU left out.
    int nodes = 0;          // Kernels of a step of one row whose token is drawn.
  };
  virtual StepFigures step_figures() const = 0;
  // Null for a model without experts.
  virtual const ExpertPlacement* experts() const = 0;
  virtual ExpertPlacement* experts() = 0;
  virtual int64_t weight_bytes() const = 0;
};

struct CudaEngineOptions {
  EngineOptions engine;
  ExpertPlacement::Options experts;
  // Kernels may begin while their predecessors end, where the card can do that.
  bool programmatic_launch = true;
  StartTimes* start_times = nullptr;  // Hears of the parts of the engine's start; may be null.
};

// `device` is a CUDA card's and outlives the engine, as do file and graph. kUnimplemented, naming
// the part, for a model that no kernel runs yet; kUnavailable without a toolkit; MachineErrors when
// the card has too little memory.
absl::StatusOr<std::unique_ptr<CudaStepEngine>> CreateCudaEngine(const CudaEngineOptions& options,
                                                                 const GgufFile& file,
                                                                 const ModelGraph& graph,
                                                                 Device& device);

// What an engine takes of GPU memory to work in: for steps of a few rows, and for prompts of
// `prompt_batch` tokens at once (0: the engine's own choice), beside weights, experts, keys and
// values. Nothing is allocated. Errors as CreateCudaEngine's for the model and the build.
absl::StatusOr<int64_t> CudaWorkspaceBytes(const ModelGraph& graph, KvType kv_type,
                                           int64_t max_context, int64_t prompt_batch);

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_CREATE_CUDA_ENGINE_H_
