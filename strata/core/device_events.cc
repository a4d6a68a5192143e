#include "strata/core/device_events.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/status_macros.h"

namespace strata {

void DeviceEvents::Add(DeviceEvent event) {
  if (event.empty()) return;
  // A handle that somebody holds is not recorded anew: the same handle is the same point.
  const bool is_here = std::any_of(events_.begin(), events_.end(), [&](const DeviceEvent& each) {
    return each.handle() == event.handle();
  });
  if (!is_here) events_.push_back(std::move(event));
}

void DeviceEvents::Add(const DeviceEvents& others) {
  for (const DeviceEvent& event : others.events_) Add(event);
}

bool DeviceEvents::HaveEnded(Device& device) {
  const auto has_ended = [&device](const DeviceEvent& event) {
    const absl::StatusOr<bool> ended = device.HasEnded(event);
    if (!ended.ok()) device.ClearError();
    return ended.ok() && *ended;
  };
  events_.erase(std::remove_if(events_.begin(), events_.end(), has_ended), events_.end());
  return events_.empty();
}

absl::Status DeviceEvents::HoldBack(Device& device, const DeviceStream& stream) const {
  for (const DeviceEvent& event : events_) RETURN_IF_ERROR(device.StreamWait(stream, event));
  return absl::OkStatus();
}

void DeviceEvents::Drain(Device& device) {
  for (const DeviceEvent& event : events_) device.Drain(event);
  events_.clear();
}

}  // namespace strata
