// Where the weights of the experts are that a step uses. The CPU's engine asks for them layer by
// layer and says at the end what was used; who answers may keep them anywhere and move them between
// steps, and no bit of a result depends on it.
//
// Used by the engine's thread.
#ifndef STRATA_GENERATE_CPU_EXPERT_WEIGHTS_H_
#define STRATA_GENERATE_CPU_EXPERT_WEIGHTS_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class ExpertWeights {
 public:
  // An expert of the layer, and where its blob's parts are.
  struct Location {
    int expert = 0;
    BlobParts parts = {};
  };
  using Use = absl::FunctionRef<absl::Status(absl::Span<const Location>)>;

  virtual ~ExpertWeights() = default;

  // Calls `use` with some of these experts after the others, each expert once, in any order.
  // Locations are good during the call. `chosen` are different experts of the layer, at least one.
  // The first error ends it.
  virtual absl::Status ForEachPart(int layer, absl::Span<const int> chosen, Use use) = 0;

  // Around the layers of a step. Its rows, and what was chosen for them: of a step that failed, in
  // the layers that it came to.
  virtual void BeginStep() {}
  virtual void EndStep(const absl::Status& /*outcome*/, absl::Span<const StepRow> /*rows*/,
                       const StepRouting& /*routing*/) {}

  // Whether the files that experts are read from, apart from the model's own, are as they were: see
  // FileMapping.
  virtual absl::Status CheckUnchanged() const { return absl::OkStatus(); }

  // Around the steps of a prompt, and after its first token was drawn. Memory that BeginPrompt
  // gives, perhaps none, is the engine's to work in until EndPrompt.
  virtual absl::Span<std::byte> BeginPrompt() { return {}; }
  virtual void EndPrompt() {}
  virtual void FirstTokenOut() {}
};

// Experts are used where they lie in the mapped file.
class MappedExperts : public ExpertWeights {
 public:
  // `file` outlives it.
  MappedExperts(const GgufFile& file, const ExpertLayout& layout);

  absl::Status ForEachPart(int layer, absl::Span<const int> chosen, Use use) override;

 private:
  std::vector<std::vector<BlobParts>> parts_;  // By layer of the model and expert.
  std::vector<Location> locations_;            // Of one call; kept for its memory.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_EXPERT_WEIGHTS_H_
