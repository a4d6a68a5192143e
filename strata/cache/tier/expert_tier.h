// Which expert is where: in a slot of device memory or in host memory, decided by what is used and
// changed between steps while the model computes. The tier orders its parts: slots, table, policy,
// rounds of swaps, fills and loans, each a header of its own; docs/design/placement.md tells how
// they work together.
//
// The thread that decodes runs each step like this:
//   tier.BeginStep();                // Shows what has arrived, starts what is due. Never waits.
//   ... tier.Entry(number) ...       // Where the experts of this step are.
//   tier.CountUses(...);             // What the step used, any time before the next BeginStep.
//   tier.EndStep(event);             // The event behind the step's work; empty when it has ended.
// With patches by steps, all steps run on the stream of the table, the first kernel of each writes
// patch() into the image, and misses may land (landing.h):
//   ... tier.offers(), tier.groups(), tier.first_layer() ...
//   tier.AddLandings(landings);      // When the result is known; none of a step that failed.
// Steps may run on several streams: each event counts, not the last alone.
// After warm-up a step allocates nothing. A step that runs a whole prompt is a step like any other.
//
// Used by one thread; the parts it is given outlive it. A step that was launched keeps what it
// reads until its event has ended: nothing else ends it. Sizes are in bytes.
#ifndef STRATA_CACHE_TIER_EXPERT_TIER_H_
#define STRATA_CACHE_TIER_EXPERT_TIER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/policy/landing_policy.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/policy/saving_ledger.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/tier/arena_tenants.h"
#include "strata/cache/tier/event_counter.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/fill_queue.h"
#include "strata/cache/tier/landing.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/routing_counter.h"
#include "strata/cache/tier/saving_listener.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/slot_landings.h"
#include "strata/cache/tier/slot_lender.h"
#include "strata/cache/tier/slot_loan.h"
#include "strata/cache/tier/slot_uses.h"
#include "strata/cache/tier/step_gap.h"
#include "strata/cache/tier/step_uses.h"
#include "strata/cache/tier/swap_allowance.h"
#include "strata/cache/tier/swap_round.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/cache/tier/tier_journal.h"
#include "strata/cache/tier/tier_observer.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/stopwatch.h"

namespace strata {

class ExpertTier {
 public:
  struct Options {
    SwapPolicy::Options policy;
    AliasRule aliases = AliasRule::kAnyMemory;
    MissPath miss_path = MissPath::kCpu;  // Of misses that have an address.
    int fill_chunk = 128;                 // Experts that a background fill shows together.
    CacheFiller::Options filler;
    // Of the time, what swaps may take of the cores at most, where these make the copies: on a
    // device that is no GPU. Measured; see SwapAllowance.
    double swap_share = 0.01;
    // Of the device's memory, that stay free beside the slots: see SlotCache.
    int64_t free_bytes = 0;
    // Numbers, as for SlotPlan; decides among experts of equal counts.
    std::vector<int> hottest_first;
    // By number, as of a profile: see SwapPolicy::Seed. Empty: counts begin at zero.
    std::vector<float> expected_uses;
    // For an image of the table in device memory: see ExpertTable. Both or none.
    const DeviceStream* table_stream = nullptr;
    StagePool* table_patches = nullptr;
    // The image is written by the steps themselves, on table_stream, and table_patches is null.
    bool patches_by_step = false;
    // With patches by step: of each class's slots, those offered for misses to land in. 0: none
    // ever; what is used comes into slots by copies. Otherwise there are no swaps by copies.
    double offered_share = 0;
    LandingRule landing_rule = LandingRule::kAdaptive;
    // Slots in which something has landed: all are compared before they are shown, or a sample
    // afterwards.
    SlotVerify verify_landings = SlotVerify::kNone;
    // By number, as a profile lets expect; empty: what decides of landings knows nothing at first.
    std::vector<float> uses_per_step;
    TierObserver* observer = nullptr;  // Hears the journal; may be null.
  };

  struct Collaborators {
    Device& device;
    ExpertSource& source;
    PinnedArena* arena = nullptr;  // The source's, if it has one.
    StagePool* stages = nullptr;   // For fills and swaps; may be null when the plan has no slots.
  };

  // With empty slots: fewer than planned where the device has too little memory.
  static absl::StatusOr<std::unique_ptr<ExpertTier>> Create(const Options& options,
                                                            const ExpertGeometry& geometry,
                                                            const SlotPlan& plan,
                                                            const Collaborators& collaborators);
  ~ExpertTier();

  // --- Filling at start: the experts of the plan, hottest first ---

  struct FillOptions {
    SlotVerify verify = SlotVerify::kSample;
    // After each chunk, by Fill alone, and never after it.
    std::function<void(const FillProgress&)> progress = {};
  };
  // Returns when all have arrived. An error is the file's, the machine's, the device's, or
  // kDataLoss when a slot differs from its source; the slots that are not right are empty and not
  // used. While a loan is out there is no fill; copies wait for what it has left behind.
  absl::StatusOr<FillReport> Fill(const FillOptions& options);
  // In the background: steps may begin, and BeginStep shows what has arrived.
  void StartFill(SlotVerify verify);
  bool fill_done() const { return fill_ == nullptr || fill_->done(); }
  // Of the fill so far; refills go on counting.
  FillReport fill_report() const { return fill_ == nullptr ? FillReport() : fill_->report(); }

  // --- Steps ---

  void BeginStep();
  // Good from BeginStep to the next.
  const ExpertEntry& Entry(int number) const { return table_->entry(number); }
  // So many tokens of the step chose the expert, whose layer is a block number. Uses by tokens that
  // are not accepted are counted, but do not move the policy.
  void CountUses(ExpertId expert, int uses, bool accepted);
  // Of the uses that are counted from now on: who served those that were missed.
  void SetMissPath(MissPath path) { routing_.SetPath(path); }
  void EndStep(DeviceEvent event);
  // With patches by step, from BeginStep to the next: what the step's first kernel writes into the
  // image. Long after a fill or a loan, and when marks are given for the first time; RecoverTable
  // writes the whole image instead and leaves it empty.
  absl::Span<const TablePatch> patch() const { return table_->patch(); }
  // The step that has begun, or did last, was not launched, or nobody knows whether its first
  // kernel has run: the next one gets the patch, too.
  void PatchLost() { table_->PatchLost(); }
  // From BeginStep to AddLandings; without offers, in groups as well, while nothing may land. See landing.h: `groups` are by
  // landing class, `first_layer` counts the layers that have experts.
  absl::Span<const LandingOffer> offers() const;
  absl::Span<const LandingGroup> groups() const;
  // Whether anything ever may.
  bool lands() const { return landings_ != nullptr; }
  int first_layer() const { return landings_ == nullptr ? 0 : landings_->first_layer(); }
  // What the step's result says has landed, before the next BeginStep: seen by that step, if the
  // policy admits it. kInternal when it says what cannot be, kDataLoss when a slot of an earlier
  // step differs from its expert's source; from then on nothing lands.
  absl::Status AddLandings(absl::Span<const Landing> landings);
  // Between steps: whether misses land, as they do at first, or swaps by copies bring experts.
  void SetLanding(bool on);
  // Of the step that has begun, or did last; -1 before the first.
  int64_t step() const { return step_; }

  // No swap is decided before the first call.
  void SetRates(const SwapRates& rates) { rates_ = rates; }

  // --- Lending, between steps ---

  // Tail slots that hold so many bytes; kResourceExhausted when all slots together do not.
  // kFailedPrecondition while a loan is out. Waits for copies under way: counted apart.
  absl::StatusOr<SlotLoan> Lend(int64_t bytes);
  // So many tail slots, or all there are.
  absl::StatusOr<SlotLoan> LendSlots(int num_slots);
  // The prompt is done and its first token shown: what left for loans may come back.
  void FirstTokenOut();

  // After the stream of the kernels has failed and was drained.
  absl::Status RecoverTable() { return table_->WriteImage(); }

  // --- What there is, and what was counted ---

  const SlotCache& slots() const { return *slots_; }
  const ExpertTable& table() const { return *table_; }
  const SwapPolicy& policy() const { return policy_; }
  // By slot: the expert served from it, or -1. Between steps.
  std::vector<int> residents() const;
  TierCounters counters() const;

 private:
  ExpertTier(const Options& options, const ExpertGeometry& geometry,
             std::unique_ptr<SlotCache> slots, std::unique_ptr<ExpertTable> table,
             std::unique_ptr<LandingPolicy> landing_policy, std::unique_ptr<Residency> residency,
             const Collaborators& collaborators, std::unique_ptr<CacheFiller> filler,
             std::unique_ptr<SlotChecker> checker);

  // What the step before used and what has landed in it: decided once.
  void EndUses(const StepGap& gap);
  bool lands_now() const { return landings_ != nullptr && landings_->on(); }
  bool MayOffer() const;
  // Asks the device what is still in use.
  StepGap GapBefore(int64_t next_step, ExpertTable::Wait wait) {
    uses_.Refresh();
    return {next_step, uses_.all(), wait};
  }
  void EndRound(bool lends, const StepGap& gap);
  // What the mover did for swaps, and deciding them, is charged to the allowance.
  void ChargeForMover();
  void DecideSwaps(const StepGap& gap);
  // Nothing is under way any more; what had not started is dropped.
  absl::Status FinishCopies(const StepGap& gap);
  void WaitForMover();
  void LogOnce(const absl::Status& status);

  const Options options_;
  const ExpertGeometry& geometry_;
  Device& device_;
  const std::unique_ptr<SlotCache> slots_;
  const std::unique_ptr<ExpertTable> table_;
  const std::unique_ptr<LandingPolicy> landing_policy_;  // Null when nothing ever lands.
  const std::unique_ptr<Residency> residency_;
  ArenaTenants tenants_;
  SlotUses uses_;  // Ends before the memory that it is of.

  TierCounters counters_;
  SwapPolicy policy_;
  SavingLedger ledger_;
  EventCounter event_counter_;
  SavingListener saving_listener_;
  TierJournal journal_;
  RoutingCounter routing_;
  std::optional<SwapRates> rates_;
  std::optional<SwapRates> reported_rates_;
  int64_t step_ = -1;
  bool in_step_ = false;
  bool said_error_ = false;
  int64_t waits_between_steps_ = 0;
  const Stopwatch clock_;
  SwapAllowance allowance_;
  int64_t charged_ns_ = 0;  // Of the mover's time for swaps.
  StepUses step_uses_;
  bool uses_are_open_ = false;  // Of the step before, or the one that has begun.

  // All null without slots.
  const std::unique_ptr<CacheFiller> filler_;
  const std::unique_ptr<SlotChecker> checker_;
  std::unique_ptr<SwapRound> round_;
  std::unique_ptr<FillQueue> fill_;
  std::unique_ptr<SlotLender> lender_;
  std::unique_ptr<SlotLandings> landings_;  // Null as well when nothing ever lands.
  std::unique_ptr<ExpertMover> mover_;      // Its work uses what round and fill hold.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_EXPERT_TIER_H_
