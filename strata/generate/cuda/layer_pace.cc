#include "strata/generate/cuda/layer_pace.h"

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

namespace strata {

void LayerPace::Begin(const std::function<bool()>* should_stop) {
  should_stop_ = should_stop;
  last_layer_ = {};
  waited_ms_ = 0;
}

absl::Status LayerPace::EndLayer() {
  if (should_stop_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(DeviceEvent layer, device_.Record(stream_));
  const DeviceEvent before = std::exchange(last_layer_, std::move(layer));
  if (!before.empty()) {
    const Stopwatch stopwatch;
    RETURN_IF_ERROR(device_.Wait(before));
    waited_ms_ += stopwatch.ms();
  }
  if (!(*should_stop_)()) return absl::OkStatus();
  return absl::CancelledError("the step was asked to stop");
}

}  // namespace strata
