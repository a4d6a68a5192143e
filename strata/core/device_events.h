// Points of any number of streams: they have ended when each of them has. What may still use some
// memory is such a set, and the memory is free when the set has ended; a single event would stand
// for the last use of one stream alone.
//
// Allocates nothing for a few events. Thread-compatible. The device outlives its events.
#ifndef STRATA_CORE_DEVICE_EVENTS_H_
#define STRATA_CORE_DEVICE_EVENTS_H_

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"

namespace strata {

class DeviceEvents {
 public:
  DeviceEvents() = default;
  // An event is a set of one, or of none: whoever takes a set takes an event.
  DeviceEvents(DeviceEvent event) { Add(std::move(event)); }  // NOLINT(runtime/explicit)

  void Add(DeviceEvent event);
  void Add(const DeviceEvents& others);
  void Clear() { events_.clear(); }

  // No event, ended or not.
  bool empty() const { return events_.empty(); }
  int size() const { return static_cast<int>(events_.size()); }

  // Whether all have ended; those that have are forgotten. While the device cannot tell, they have
  // not, and its error is cleared.
  bool HaveEnded(Device& device);
  // Later work of the stream waits for all of them.
  absl::Status HoldBack(Device& device, const DeviceStream& stream) const;
  // Blocks until all have ended, whatever errors come up, and forgets them.
  void Drain(Device& device);

 private:
  absl::InlinedVector<DeviceEvent, 4> events_;  // None twice, none empty.
};

}  // namespace strata

#endif  // STRATA_CORE_DEVICE_EVENTS_H_
