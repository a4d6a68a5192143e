// The thread that does for a tier what takes time: it gives victims a place in the arena, copies
// experts into slots, and reads slots back to verify them. The decode thread starts a piece of work
// and looks now and then whether it has ended.
//
// One piece of work at a time. Used by one thread; a start allocates nothing once one of its size
// has run. Collaborators outlive it; its end waits for the work.
#ifndef STRATA_CACHE_TIER_EXPERT_MOVER_H_
#define STRATA_CACHE_TIER_EXPERT_MOVER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/checksum.h"
#include "strata/core/device_event.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/worker_group.h"

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
    DeviceEvent after = {};                 // What may still read a slot.
    SlotVerify verify = SlotVerify::kNone;
    std::function<void(const CacheFiller::Progress&)> progress = {};  // On the mover's thread.
  };

  // `arena` may be null.
  ExpertMover(CacheFiller& filler, SlotChecker& checker, PinnedArena* arena);
  ~ExpertMover();

  // Each expert gets a place in the arena, or `is_there[i]` is false: no spare place, or the file
  // cannot be read. Both live until Take.
  void StartAliases(absl::Span<const ExpertId> experts, absl::Span<bool> is_there);
  void StartCopies(Copies copies);

  // From a start until Take; `running` until the work has ended, then Take does not block.
  bool busy() const { return busy_; }
  bool running() const { return worker_.running(); }
  void Wait();
  // How the work ended. On an error no slot of it may be trusted, and no copy runs any more.
  absl::Status Take();
  // Slots verified by the work just taken; items[0] is always among them.
  int num_verified() const { return num_verified_; }
  // How often Wait or Take found the work running.
  int64_t num_waits() const { return num_waits_; }

 private:
  void Work();
  absl::Status Copy();
  absl::Status Verify();

  CacheFiller& filler_;
  SlotChecker& checker_;
  PinnedArena* const arena_;

  // The work; set while the worker rests.
  bool busy_ = false;
  int64_t num_waits_ = 0;
  absl::Span<const ExpertId> aliases_;
  absl::Span<bool> is_there_;
  Copies copies_;
  std::vector<Checksum> checksums_;
  absl::Status outcome_;
  int num_verified_ = 0;

  WorkerGroup worker_;  // Last: its thread uses all of the above.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_EXPERT_MOVER_H_
