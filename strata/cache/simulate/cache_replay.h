// Runs a policy, the very object that the engine runs, over the steps of a log, and counts what a
// cache of these slots would have done. A step sees the residents as they were before it; what it
// brings in shows from the next step on, or later.
//
// Used by one thread.
#ifndef STRATA_CACHE_SIMULATE_CACHE_REPLAY_H_
#define STRATA_CACHE_SIMULATE_CACHE_REPLAY_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/landing_pools.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/simulate/cache_state.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {

// How an expert gets into a slot.
enum class AdmissionMode {
  // Whatever missed may be kept, at no cost: the reading of the miss has moved its bytes already.
  kEveryMiss,
  // The same, as far as slots are offered (LandingPools): those of a step's pools are empty and hold
  // no resident. Wanted misses take them in the order in which layers run.
  kLanding,
  // A copy after the step, which costs the bytes again; it shows `copy_steps` steps later.
  kCopies,
};

class CacheReplay {
 public:
  struct Options {
    AdmissionMode mode = AdmissionMode::kEveryMiss;
    double offered_share = LandingPools::kDefaultShare;
    // By layer, see LandingPools; empty: the size classes.
    std::vector<int> landing_classes = {};
    int copy_steps = 1;  // Steps that go by without victim and newcomer.
  };

  // Where slots are offered, the coldest of `residents` leave for them at first: `residents` are in
  // the order of a SlotPlan, hottest first, and fill `slots_of_class` or less.
  CacheReplay(const ExpertGeometry& geometry, const Options& options,
              absl::Span<const int> slots_of_class, absl::Span<const int> residents,
              ExpertPolicy& policy);

  void Step(absl::Span<const ExpertUse> uses, int num_tokens);
  // All steps of the log.
  void Run(const RoutingLog& log);
  // From the next admission on.
  void SetCopySteps(int steps) { options_.copy_steps = steps; }
  // With landing: whether slots are offered to the steps from now on.
  void SetOffers(bool on) { offers_ = on; }
  // Whether a copy will still be under way when the next step has ended.
  bool busy() const { return !arriving_.empty() && arriving_.back().step > step_ + 1; }
  const ReplayCounts& counts() { return state_.counts(); }

 private:
  struct Arrival {
    int64_t step = 0;
    int number = 0;
  };

  void MakePools(absl::Span<const int> slots_of_class);
  void ShowArrivals();
  void SelectLanding();
  void Apply(const ExpertPolicy::Admission& admission);

  const ExpertGeometry& geometry_;
  Options options_;
  const ExpertOrder order_;
  ExpertPolicy& policy_;
  CacheState state_;
  LandingPools pools_;
  bool offers_ = true;
  std::vector<int> num_empty_;  // By size class, without those offered.
  std::vector<int> missed_;
  std::vector<int> landed_;
  std::vector<int> num_given_, num_early_;  // By landing class, of a step.
  std::deque<Arrival> arriving_;
  int64_t step_ = 0;
};

// By size class, the slots of a plan.
std::vector<int> SlotsOfClass(const SlotPlan& plan);

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_CACHE_REPLAY_H_
