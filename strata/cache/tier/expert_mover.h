// Who does for a tier what takes time: gives victims a place in the arena, copies experts into
// slots, and reads slots back to verify them. The decode thread starts a piece of work and looks
// now and then whether it has ended.
//
// One piece of work at a time. Used by one thread; a start allocates nothing once one of its size
// has run.
#ifndef STRATA_CACHE_TIER_EXPERT_MOVER_H_
#define STRATA_CACHE_TIER_EXPERT_MOVER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/device_events.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

// Which slots are read back after they were filled, and compared with what was copied.
enum class SlotVerify {
  kNone,
  kFirst,   // The first of a fill.
  kSample,  // The first, and one in 16.
  kAll,     // By the checksums of the bytes as they were copied, so that no file is read twice.
};

class ExpertMover {
 public:
  struct Copies {
    absl::Span<const FillItem> items = {};  // Lives until Take.
    DeviceEvents after = {};                // What may still use a slot.
    SlotVerify verify = SlotVerify::kNone;
  };
  // How a piece of work ended.
  struct Outcome {
    // On an error no slot of it may be trusted, and no copy runs any more. Memory or threads that
    // the machine does not have are such an error, not the end of the process.
    absl::Status status;
    int num_verified = 0;  // Slots read back; items[0] is always among them.
    int64_t work_ns = 0;   // From its start to its end, whoever noticed that when.
  };

  virtual ~ExpertMover() = default;

  // Each expert gets a place in the arena, or `is_there[i]` is false: no spare place, or the file
  // cannot be read. Both live until Take.
  virtual void StartAliases(absl::Span<const ExpertId> experts, absl::Span<bool> is_there) = 0;
  virtual void StartCopies(const Copies& copies) = 0;
  // Compares slots, that nobody changes meanwhile, with their experts' source: kDataLoss when one
  // differs. They live until Take.
  virtual void StartChecks(absl::Span<const FillItem> slots) = 0;

  // From a start until Take; `running` until the work has ended, then Take does not block.
  virtual bool busy() const = 0;
  virtual bool running() const = 0;
  virtual void Wait() = 0;
  virtual Outcome Take() = 0;
  // How often Wait or Take found the work running.
  virtual int64_t num_waits() const = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_EXPERT_MOVER_H_
