// Work that may still touch the memory of slots, or an arena's place that an entry pointed to. The
// one rule of the tier is kept by what is here: such memory is somebody else's only when every
// event that was ever given for it has ended, or behind all of them on the device.
//
// Steps read what their entries point to; loans use what they borrowed, on any stream and longer
// than they last. Neither makes the events of the other, or its own earlier ones, forgotten.
//
// Used by the decode thread alone. The device outlives it; its end waits for all that was given.
#ifndef STRATA_CACHE_TIER_SLOT_USES_H_
#define STRATA_CACHE_TIER_SLOT_USES_H_

#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_events.h"

namespace strata {

class SlotUses {
 public:
  explicit SlotUses(Device& device) : device_(device) {}
  ~SlotUses();
  SlotUses(const SlotUses&) = delete;
  SlotUses& operator=(const SlotUses&) = delete;

  void AddStep(DeviceEvent event);
  void AddLoan(const DeviceEvents& last_uses);

  // Asks the device, and forgets what has ended.
  void Refresh();
  // Of steps and loans, as of the last Refresh or later.
  const DeviceEvents& all() const { return all_; }
  // Whether memory that was lent is in use after its loan, as all().
  bool by_loans() const { return !loans_.empty(); }

 private:
  Device& device_;
  DeviceEvents loans_;
  DeviceEvents all_;  // Those of loans_, too.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SLOT_USES_H_
