#include "strata/cache/tier/slot_uses.h"

#include <utility>

#include "strata/core/device_event.h"
#include "strata/core/device_events.h"

namespace strata {

SlotUses::~SlotUses() { all_.Drain(device_); }

void SlotUses::AddStep(DeviceEvent event) { all_.Add(std::move(event)); }

void SlotUses::AddLoan(const DeviceEvents& last_uses) {
  loans_.Add(last_uses);
  all_.Add(last_uses);
}

void SlotUses::Refresh() {
  loans_.HaveEnded(device_);
  all_.HaveEnded(device_);
}

}  // namespace strata
