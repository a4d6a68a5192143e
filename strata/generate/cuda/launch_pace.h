// How far the host runs ahead of a device to which it launches a step layer by layer: two layers. So
// the device always has work, and who stops the step waits for no more than that.
//
//   pace.Begin();
//   ... for each layer: launches of the layer;  RETURN_IF_ERROR(pace.EndLayer()); ...
//
// Used by the engine's thread; device and stream outlive it.
#ifndef STRATA_GENERATE_CUDA_LAUNCH_PACE_H_
#define STRATA_GENERATE_CUDA_LAUNCH_PACE_H_

#include <array>

#include "absl/status/status.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"

namespace strata {

class LaunchPace {
 public:
  LaunchPace(Device& device, const DeviceStream& stream) : device_(device), stream_(stream) {}

  // A step whose first layer is not launched yet.
  void Begin() { ended_ = {}; }
  // The launches of a layer are in the stream: waits until the layer two before it has ended. An
  // error is the device's.
  absl::Status EndLayer();
  // Of the host, in all waits so far.
  double waited_ms() const { return waited_ms_; }

 private:
  Device& device_;
  const DeviceStream& stream_;
  std::array<DeviceEvent, 2> ended_;  // The layers launched last; the older one first.
  double waited_ms_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_LAUNCH_PACE_H_
