// The swaps of one round, from the decision until the newcomers are served from slots. In this
// order, each part before some step and never waiting for the one before it:
//
//   (0) a victim without a pinned alias gets a spare place of the arena, on the mover's thread;
//   (1) the victims' entries point to their aliases,
//   (2) and the copies into their slots start, behind all that may still use the slots, such as the
//       steps that were launched before (1);
//   (3) once the copies are seen to have ended, the newcomers' entries point to the slots;
//   (4) the newcomers' own places in the arena are spare after the steps launched before (3), as
//       are those of victims that got one and then stayed: see ArenaTenants.
//
// A victim takes a spare place where its newcomer will leave one, so the arena never runs out of
// them; without one the swap is dropped. Where the newcomer has none to leave, after a loan, the
// victim takes one only if there are more than swaps need. Copies that fail leave entries at the
// aliases and the slots empty.
//
// Used by the decode thread alone, between steps; nothing is allocated after warm-up. Collaborators
// outlive it.
#ifndef STRATA_CACHE_TIER_SWAP_ROUND_H_
#define STRATA_CACHE_TIER_SWAP_ROUND_H_

#include <cstdint>
#include <memory>
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
#include "strata/core/gguf/expert_layout.h"

namespace strata {

class SwapRound {
 public:
  struct Collaborators {
    Residency& residency;
    ExpertMover& mover;
    ArenaTenants& tenants;
    TierObserver& journal;
  };

  SwapRound(const Collaborators& collaborators, int max_swaps);

  bool idle() const { return phase_ == Phase::kIdle; }
  // Takes up the swaps, while the round is idle and the mover not busy.
  void Start(absl::Span<const SwapPolicy::Swap> swaps, const SwapRates& rates, const StepGap& gap);
  // Does what is due before the next step. An error is the table's; the round goes on later.
  absl::Status Advance(const StepGap& gap);
  // How long the mover has worked for rounds so far.
  int64_t mover_ns() const { return mover_ns_; }
  // Drops the swaps if their victims have not left yet. Waits for the mover's work on aliases.
  void DropUnstarted(const StepGap& gap);

 private:
  enum class Phase {
    kIdle,
    kGettingAliases,
    kReady,    // To move victims out and start copies.
    kCopying,  // Until the newcomers show.
  };

  void FindVictimsWithoutAlias();
  void TakeAliases(const StepGap& gap);
  absl::Status MoveVictimsOut(const StepGap& gap);
  void StartCopies(const StepGap& gap);
  absl::Status AdvanceCopies(const StepGap& gap);
  void Show(const StepGap& gap);
  void Drop(const SwapPolicy::Swap& swap, const StepGap& gap);
  void End();

  const Collaborators parts_;
  Phase phase_ = Phase::kIdle;
  SwapRates rates_;
  std::vector<SwapPolicy::Swap> swaps_;
  std::vector<Residency::Placement> victims_;
  std::vector<ExpertId> without_alias_;
  const std::unique_ptr<bool[]> got_alias_;  // As without_alias_.
  SlotCopies copies_;
  int64_t mover_ns_ = 0;
  bool said_failure_ = false;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SWAP_ROUND_H_
