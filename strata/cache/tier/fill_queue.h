// Experts that are to come into empty slots, hottest first, in the background: those of the plan at
// start, and those that had to leave for a loan.
//
// They are copied in chunks, and each chunk is shown in the table when it has arrived. An expert
// for which no slot of its size class is empty any more is passed over. The queue calls nobody
// back: who wants to follow a fill asks for its progress.
//
// Used by the decode thread alone, between steps; nothing is allocated after warm-up. Collaborators
// outlive it.
#ifndef STRATA_CACHE_TIER_FILL_QUEUE_H_
#define STRATA_CACHE_TIER_FILL_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/arena_tenants.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/slot_copies.h"
#include "strata/cache/tier/step_gap.h"
#include "strata/cache/tier/tier_observer.h"

namespace strata {

// Experts done and to come, and their bytes.
struct FillProgress {
  int64_t num_done = 0;
  int64_t num_items = 0;
  int64_t bytes_done = 0;
  int64_t num_bytes = 0;
};

// What a fill has done so far.
struct FillReport {
  int64_t num_experts = 0;
  int64_t num_bytes = 0;
  double seconds = 0;  // While copies or checks ran, of the mover's own clock.
  int64_t num_verified = 0;
  bool slot0_verified = false;
  // Why the first chunk failed that did; its experts are served from host memory.
  absl::Status status;

  double gb_per_s() const {
    return seconds > 0 ? static_cast<double>(num_bytes) / 1e9 / seconds : 0;
  }
};

class FillQueue {
 public:
  struct Collaborators {
    Residency& residency;
    ExpertMover& mover;
    ArenaTenants& tenants;
    TierObserver& journal;
  };

  // Chunks are of at most `max_chunk` experts.
  FillQueue(const Collaborators& collaborators, int max_chunk);

  // Queues these in place of what an earlier fill still has to bring, and begins a new report, in
  // which a chunk that is under way counts. What is to come back after a loan still is, behind
  // them.
  void Fill(absl::Span<const int> hottest_first, SlotVerify verify);
  // One more that is to come back, after all that are queued.
  void AddReturning(int expert);
  // Hottest first among those queued.
  void Sort(const SwapPolicy& policy);
  // Nothing starts while paused.
  void Pause() { paused_ = true; }
  void Resume() { paused_ = false; }

  bool under_way() const { return !copies_.empty(); }
  // Nothing is queued or under way.
  bool done() const { return next_ == queue_.size() && !under_way(); }
  bool paused() const { return paused_; }
  const FillReport& report() const { return report_; }
  // Of the report's experts, and those that are queued.
  FillProgress progress() const;

  // Shows what has arrived. An error is the table's: it is tried again later.
  absl::Status Advance(const StepGap& gap);
  // Starts the next chunk, of at most so many experts, when nothing is under way and the mover is
  // not busy.
  void StartNext(int chunk, const StepGap& gap);

 private:
  void Show(const StepGap& gap);

  const Collaborators parts_;
  const int max_chunk_;
  std::vector<int> queue_;
  size_t next_ = 0;              // What is before it has been started.
  std::vector<bool> returning_;  // By expert: it left for a loan, and is queued or under way.
  bool paused_ = false;
  SlotVerify verify_ = SlotVerify::kNone;
  SlotCopies copies_;
  FillReport report_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_FILL_QUEUE_H_
