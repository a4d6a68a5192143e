// Where the weights of the experts are that a step uses. The engine asks for them layer by layer
// and says what it chose; who answers may keep them anywhere and move them between steps, and no
// bit of a result depends on it.
//
// Used by the engine's thread.
#ifndef STRATA_GENERATE_ENGINE_EXPERT_WEIGHTS_H_
#define STRATA_GENERATE_ENGINE_EXPERT_WEIGHTS_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class ExpertWeights {
 public:
  // An expert of the layer and the data of its matrices.
  struct Place {
    int expert = 0;
    const std::byte* gate = nullptr;
    const std::byte* up = nullptr;
    const std::byte* down = nullptr;
  };
  using Use = absl::FunctionRef<absl::Status(absl::Span<const Place>)>;

  virtual ~ExpertWeights() = default;

  // Calls `use` with one part of these experts after the other, each expert once, in any order.
  // Places are good during the call. `chosen` are different experts of the block, at least one. The
  // first error ends it.
  virtual absl::Status ForEachPart(int block, const MixtureOfExperts& experts,
                                   absl::Span<const int> chosen, Use use) = 0;

  // Around the layers of a step.
  virtual void BeginStep() {}
  virtual void EndStep(const absl::Status& /*outcome*/) {}
  // What the router chose for a token, best first. Within a step, layer by layer.
  virtual void CountRouting(int /*block*/, absl::Span<const ExpertChoice> /*chosen*/) {}

  // Around the steps of a prompt, and after its first token was drawn. Memory that BeginPrompt
  // gives, perhaps none, is the engine's to work in until EndPrompt.
  virtual absl::Span<std::byte> BeginPrompt() { return {}; }
  virtual void EndPrompt() {}
  virtual void FirstTokenOut() {}
};

// Experts are used where they lie in the mapped file.
class MappedExperts : public ExpertWeights {
 public:
  absl::Status ForEachPart(int block, const MixtureOfExperts& experts, absl::Span<const int> chosen,
                           Use use) override;

 private:
  std::vector<Place> places_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_EXPERT_WEIGHTS_H_
