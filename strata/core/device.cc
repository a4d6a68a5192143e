#include "strata/core/device.h"

#include <utility>

#include "absl/status/statusor.h"
#include "strata/core/device_event.h"
#include "strata/core/device_loan.h"
#include "strata/core/status_macros.h"

namespace strata {

absl::StatusOr<DeviceEvent> Device::Record(const DeviceStream& stream) {
  DeviceEvent event = events_.Take();
  if (event.empty()) {
    ASSIGN_OR_RETURN(void* const handle, CreateEventHandle());
    event = events_.Add(handle);
  }
  RETURN_IF_ERROR(RecordEvent(event, stream));
  return event;
}

DeviceLoan::~DeviceLoan() {
  if (device_ == nullptr) return;
  switch (kind_) {
    case Kind::kMemory:
      device_->FreeMemory(handle_);
      break;
    case Kind::kPinned:
      device_->FreePinned(handle_);
      break;
    case Kind::kRegistration:
      device_->Unregister(handle_);
      break;
    case Kind::kStream:
      device_->DestroyStream(handle_);
      break;
  }
}

}  // namespace strata
