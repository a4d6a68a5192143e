// The mover of a tier: a thread that works through a CacheFiller, a SlotChecker and an arena.
//
// Collaborators outlive it; its end waits for the work.
#ifndef STRATA_CACHE_TIER_MOVER_THREAD_H_
#define STRATA_CACHE_TIER_MOVER_THREAD_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/checksum.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/worker_group.h"

namespace strata {

class MoverThread : public ExpertMover {
 public:
  // `arena` may be null.
  MoverThread(CacheFiller& filler, SlotChecker& checker, PinnedArena* arena);
  ~MoverThread() override;

  void StartAliases(absl::Span<const ExpertId> experts, absl::Span<bool> is_there) override;
  void StartCopies(const Copies& copies) override;
  void StartChecks(absl::Span<const FillItem> slots) override;
  bool busy() const override { return busy_; }
  bool running() const override { return worker_.running(); }
  void Wait() override;
  Outcome Take() override;
  int64_t num_waits() const override { return num_waits_; }

 private:
  void Start();
  void Work();
  absl::Status WorkOnce();
  absl::Status InsertAliases();
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
  absl::Span<const FillItem> checks_;
  std::vector<Checksum> checksums_;
  std::vector<FillItem> sample_;
  Outcome outcome_;

  WorkerGroup worker_;  // Last: its thread uses all of the above.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_MOVER_THREAD_H_
