// How far a step that is launched layer by layer runs ahead of the device: one layer, so that who
// asks it to stop waits for no more than what is under way, and the device never for the host.
//
// Used by one thread; the device and the stream outlive it.
#ifndef STRATA_GENERATE_CUDA_LAYER_PACE_H_
#define STRATA_GENERATE_CUDA_LAYER_PACE_H_

#include <functional>

#include "absl/status/status.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"

namespace strata {

class LayerPace {
 public:
  LayerPace(Device& device, const DeviceStream& stream) : device_(device), stream_(stream) {}

  // A step begins. Without `should_stop` nobody waits.
  void Begin(const std::function<bool()>* should_stop);
  // A layer has been launched: waits until the one before it has ended, then asks. kCancelled when
  // the answer is yes; the errors of Device::Wait.
  absl::Status EndLayer();
  // Of the step so far.
  double waited_ms() const { return waited_ms_; }

 private:
  Device& device_;
  const DeviceStream& stream_;
  const std::function<bool()>* should_stop_ = nullptr;
  DeviceEvent last_layer_;
  double waited_ms_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_LAYER_PACE_H_
