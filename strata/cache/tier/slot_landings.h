// Admission by landing: the slots that each step offers, the marks that say whose misses may take
// them, and what becomes of what has landed (see landing.h).
//
//   before a step:  Show, of what the policy admits of the step before; then Offer.
//   after a step:   AddLandings, of its result.
//
// An offered slot becomes its expert's or empty again by the result of its step and by nothing
// else. A victim's entry goes to its alias before the same step that sees the newcomer, so its slot
// can be offered to that step: the table is patched by the steps themselves, which all run on one
// stream.
//
// Used by the decode thread alone, between steps; nothing is allocated after warm-up. Collaborators
// outlive it.
#ifndef STRATA_CACHE_TIER_SLOT_LANDINGS_H_
#define STRATA_CACHE_TIER_SLOT_LANDINGS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/landing_policy.h"
#include "strata/cache/policy/landing_pools.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/arena_tenants.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/landing.h"
#include "strata/cache/tier/landing_checks.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/step_gap.h"
#include "strata/cache/tier/tier_observer.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

class SlotLandings {
 public:
  struct Collaborators {
    Residency& residency;
    ExpertMover& mover;
    ArenaTenants& tenants;
    LandingPolicy& policy;
    TierObserver& journal;
  };

  // A share of the slots of each class; a landing class is the layers of one blob layout.
  static LandingPools PoolsOf(const ExpertGeometry& geometry, const ExpertFiles& files,
                              const SlotPlan& plan, double share);

  SlotLandings(const Collaborators& collaborators, LandingPools pools, SlotVerify verify);

  // Whether anything may land: at first it may. Not while slots are offered. What was wrong once
  // ends it for good.
  void SetOn(bool on);
  bool on() const { return on_ && status_.ok(); }

  // Offers slots to the step that begins, and marks who may land there. When the residents leave
  // too few, the coldest make way.
  void Offer(const StepGap& gap);
  absl::Span<const LandingOffer> offers() const { return offers_; }
  // By landing class.
  absl::Span<const LandingGroup> groups() const { return groups_; }
  int first_layer() const { return first_layer_; }

  // What the step's result says; slots in which nothing has landed are empty again. kInternal, and
  // nothing has landed, when it says what cannot be; kDataLoss when a slot of an earlier step was
  // found to differ from its expert's source.
  absl::Status AddLandings(int64_t step, absl::Span<const Landing> landings);
  // Withdraws what is offered still, as after a step that failed.
  void EndStep();
  // Experts that have landed and wait for Show, in the order of landing.
  absl::Span<const int> landed() const { return landed_experts_; }
  // By size class: the places that the residents leave in the slots that are not offered.
  absl::Span<const int> NumEmpty();
  // The step that comes sees the newcomers; all others that have landed are forgotten.
  void Show(absl::Span<const ExpertPolicy::Admission> admissions, const StepGap& gap);
  // Nothing reads a slot for a check any more.
  void FinishChecks();

  int64_t num_verified() const { return checks_.num_verified(); }
  // Waits for checks, and for victims' places in an arena.
  int64_t num_waits() const { return checks_.num_waits() + num_waits_; }

 private:
  void KeepPools();
  void MakeRoom(const StepGap& gap);
  void AddColdest(int size_class, int most);
  // Drops the admissions whose victims nobody could read any more.
  void SelectAdmissions(absl::Span<const ExpertPolicy::Admission> admissions);
  void FindAliases();
  // From now on nothing lands.
  void EndFor(const absl::Status& fault);
  void NoteCheck(const absl::Status& checked);
  void OfferTo(int landing_class);
  void UpdateMarks();
  // Whether it could be read without its slot.
  bool HasAlias(int expert) const;
  void ForgetLanded();
  void Change(const StepGap& gap);
  absl::Status CheckLanding(const Landing& landing) const;

  const Collaborators parts_;
  const LandingPools pools_;
  LandingChecks checks_;
  bool on_ = true;
  absl::Status status_;  // Of what was wrong first.
  int64_t num_waits_ = 0;
  std::vector<LandingOffer> offers_;
  std::vector<LandingGroup> groups_;
  int first_layer_ = 0;
  std::vector<Landing> landed_;
  std::vector<int> landed_experts_;
  std::vector<int> num_empty_;
  std::vector<ExpertPolicy::Admission> admitted_;
  std::vector<ExpertId> without_alias_;
  std::unique_ptr<bool[]> got_alias_;  // As without_alias_.
  std::vector<Residency::Placement> leaving_, arriving_;
  std::vector<int> residents_;
  std::vector<int> free_slots_;
  std::vector<uint8_t> wanted_, marked_;  // By number: 0 or 1.
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_SLOT_LANDINGS_H_
