#include "strata/cache/simulate/cache_replay.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
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
      num_offered_(slots_of_class.size(), 0),
      num_empty_(slots_of_class.begin(), slots_of_class.end()),
      offers_left_(slots_of_class.size(), 0) {
  CHECK_EQ(static_cast<int>(slots_of_class.size()), order_.num_classes());
  for (size_t i = 0; i < slots_of_class.size(); ++i) {
    if (options.mode != AdmissionMode::kLanding || slots_of_class[i] < 2) continue;
    const auto offered = std::lround(options.offered_share * slots_of_class[i]);
    num_offered_[i] = std::clamp<int>(static_cast<int>(offered), 1, slots_of_class[i] - 1);
    num_empty_[i] -= num_offered_[i];
  }
  for (const int number : residents) {
    int& num_empty = num_empty_[order_.ClassOf(number)];
    if (num_empty == 0) continue;
    --num_empty;
    state_.SetResident(number, true);
    policy_.SetPlace(number, Place::kSlot);
  }
}

void CacheReplay::ShowArrivals() {
  while (!arriving_.empty() && arriving_.front().step <= step_) {
    state_.SetResident(arriving_.front().number, true);
    policy_.SetPlace(arriving_.front().number, Place::kSlot);
    arriving_.pop_front();
  }
}

// Those of the misses that found an offered slot.
void CacheReplay::SelectLanding() {
  landed_.clear();
  std::copy(num_offered_.begin(), num_offered_.end(), offers_left_.begin());
  const auto num_layers = static_cast<int64_t>(geometry_.layers().size());
  const int first = static_cast<int>(step_ % num_layers) * geometry_.num_experts();
  const auto begin = std::lower_bound(missed_.begin(), missed_.end(), first);
  std::rotate(missed_.begin(), begin, missed_.end());
  for (const int number : missed_) {
    int& offers = offers_left_[order_.ClassOf(number)];
    if (offers == 0 || !policy_.Wants(number)) continue;
    --offers;
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
