// A moment between two steps: when the tier changes what it serves from where.
#ifndef STRATA_CACHE_TIER_STEP_GAP_H_
#define STRATA_CACHE_TIER_STEP_GAP_H_

#include <cstdint>

#include "strata/cache/tier/expert_table.h"
#include "strata/core/device_events.h"

namespace strata {

struct StepGap {
  int64_t next_step = 0;
  const DeviceEvents& in_use;  // See SlotUses::all.
  ExpertTable::Wait wait = ExpertTable::Wait::kNever;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_STEP_GAP_H_
