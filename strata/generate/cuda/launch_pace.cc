#include "strata/generate/cuda/launch_pace.h"

#include <utility>

#include "absl/status/status.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

namespace strata {

absl::Status LaunchPace::EndLayer() {
  ASSIGN_OR_RETURN(DeviceEvent now, device_.Record(stream_));
  const DeviceEvent two_before = std::exchange(ended_[0], std::exchange(ended_[1], std::move(now)));
  if (two_before.empty()) return absl::OkStatus();
  const Stopwatch stopwatch;
  const absl::Status waited = device_.Wait(two_before);
  waited_ms_ += stopwatch.ms();
  return waited;
}

}  // namespace strata
