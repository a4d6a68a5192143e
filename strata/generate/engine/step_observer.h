// Sees what a step computes on its way: for tests against other implementations, and for whoever
// records routing. Called on the engine's thread, layer by layer, tokens in order.
#ifndef STRATA_GENERATE_ENGINE_STEP_OBSERVER_H_
#define STRATA_GENERATE_ENGINE_STEP_OBSERVER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "strata/generate/kernels/router.h"

namespace strata {

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // The experts chosen for the token at `position`, best first.
  virtual void OnRouting(int layer, int64_t position, absl::Span<const ExpertChoice> chosen) = 0;
  // The token's state after the layer.
  virtual void OnLayerOutput(int layer, int64_t position, absl::Span<const float> x) = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_STEP_OBSERVER_H_
