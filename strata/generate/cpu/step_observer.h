// Sees what a step computes on its way: for tests against other implementations. Called on the
// engine's thread, layer by layer, rows in order.
#ifndef STRATA_GENERATE_CPU_STEP_OBSERVER_H_
#define STRATA_GENERATE_CPU_STEP_OBSERVER_H_

#include <cstdint>

#include "absl/types/span.h"

namespace strata {

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // The state of the row at `position` after the layer.
  virtual void OnLayerOutput(int layer, int64_t position, absl::Span<const float> x) = 0;
  // The blocks of keys, ascending, that the row at `position` attends to in a layer where it does
  // not see all.
  virtual void OnBlocksSelected(int /*layer*/, int64_t /*position*/,
                                absl::Span<const int32_t> /*blocks*/) {}
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_STEP_OBSERVER_H_
