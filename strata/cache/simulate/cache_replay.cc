#include "strata/cache/simulate/cache_replay.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/landing_pools.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {

using Place = ExpertPolicy::Place;

std::vector<int> SlotsOfClass(const SlotPlan& plan) {
  std::vector<int> slots(plan.class_bytes().size(), 0);
  for (int slot = 0; slot < plan.num_slots(); ++slot) ++slots[plan.ClassOfSlot(slot)];
  return slots;
}

CacheReplay::CacheReplay(const ExpertGeometry& geometry, const Options& options,
                         absl::Span<const int> slots_of_class, absl::Span<const int> residents,
                         ExpertPolicy& policy)
    : geometry_(geometry),
      options_(options),
      order_(geometry, {}),
      policy_(policy),
      state_(geometry),
      num_empty_(slots_of_class.begin(), slots_of_class.end()) {
  CHECK_EQ(static_cast<int>(slots_of_class.size()), order_.num_classes());
  if (options.mode == AdmissionMode::kLanding) MakePools(slots_of_class);
  for (const int number : residents) {
    int& num_empty = num_empty_[order_.ClassOf(number)];
    if (num_empty == 0) continue;
    --num_empty;
    state_.SetResident(number, true);
    policy_.SetPlace(number, Place::kSlot);
  }
}

void CacheReplay::MakePools(absl::Span<const int> slots_of_class) {
  std::vector<int> size_classes;
  for (int first = 0; first < geometry_.size(); first += geometry_.num_experts()) {
    size_classes.push_back(order_.ClassOf(first));
  }
  std::vector<int> landing_classes = options_.landing_classes;
  if (landing_classes.empty()) landing_classes = size_classes;
  pools_ = LandingPools(std::move(landing_classes), size_classes, slots_of_class,
                        options_.offered_share);
  num_given_.resize(pools_.num_classes());
  num_early_.resize(pools_.num_classes());
  for (size_t i = 0; i < num_empty_.size(); ++i) {
    num_empty_[i] -= pools_.NumOfferedBySize(static_cast<int>(i));
  }
}

void CacheReplay::ShowArrivals() {
  while (!arriving_.empty() && arriving_.front().step <= step_) {
    state_.SetResident(arriving_.front().number, true);
    policy_.SetPlace(arriving_.front().number, Place::kSlot);
    arriving_.pop_front();
  }
}

// Those of the misses that found an offered slot: see landing.h of the tier.
void CacheReplay::SelectLanding() {
  landed_.clear();
  if (!offers_) return;
  const int first_layer = pools_.FirstLayer(step_);
  for (int i = 0; i < pools_.num_classes(); ++i) {
    num_given_[i] = 0;
    num_early_[i] = pools_.NumEarly(i, first_layer, pools_.num_offered(i));
  }
  for (const int number : missed_) {
    const int layer = number / geometry_.num_experts();
    const int landing_class = pools_.ClassOfLayer(layer);
    const int num_there =
        layer < first_layer ? num_early_[landing_class] : pools_.num_offered(landing_class);
    if (num_given_[landing_class] >= num_there || !policy_.Wants(number)) continue;
    ++num_given_[landing_class];
    landed_.push_back(number);
  }
}

void CacheReplay::Step(absl::Span<const ExpertUse> uses, int num_tokens) {
  state_.CountStep(uses, num_tokens, missed_);
  if (options_.mode == AdmissionMode::kLanding) SelectLanding();
  const std::vector<int>& candidates = options_.mode == AdmissionMode::kLanding ? landed_ : missed_;
  ++step_;
  ShowArrivals();
  for (const ExpertPolicy::Admission& admission :
       policy_.EndStep({.uses = uses, .candidates = candidates, .num_empty = num_empty_})) {
    Apply(admission);
  }
}

void CacheReplay::Apply(const ExpertPolicy::Admission& admission) {
  ++state_.counts().admissions;
  if (admission.victim >= 0) {
    state_.SetResident(admission.victim, false);
    policy_.SetPlace(admission.victim, Place::kHost);
  } else {
    int& num_empty = num_empty_[order_.ClassOf(admission.newcomer)];
    CHECK_GT(num_empty, 0) << "the policy gave away a slot that is not empty";
    --num_empty;
  }
  if (options_.mode == AdmissionMode::kCopies) {
    ++state_.counts().copies;
    state_.counts().copy_bytes += geometry_.BlobBytes(admission.newcomer);
    if (options_.copy_steps > 0) {
      policy_.SetPlace(admission.newcomer, Place::kBusy);
      arriving_.push_back({step_ + options_.copy_steps, admission.newcomer});
      return;
    }
  }
  state_.SetResident(admission.newcomer, true);
  policy_.SetPlace(admission.newcomer, Place::kSlot);
}

void CacheReplay::Run(const RoutingLog& log) {
  for (size_t step = 0; step < log.num_steps(); ++step) Step(log.uses(step), log.num_tokens(step));
}

}  // namespace strata
