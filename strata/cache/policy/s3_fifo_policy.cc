#include "strata/cache/policy/s3_fifo_policy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {
namespace {

constexpr uint8_t kMostUses = 3;
constexpr int kSmallShare = 10;  // The small queue is one tenth of the slots.

}  // namespace

S3FifoPolicy::S3FifoPolicy(const ExpertGeometry& geometry)
    : order_(geometry, {}),
      queues_(order_.num_classes()),
      places_(geometry.size(), Place::kHost),
      where_(geometry.size(), Where::kNowhere),
      enters_(geometry.size(), Where::kMain),
      uses_(geometry.size(), 0),
      stamps_(geometry.size(), 0),
      num_empty_(order_.num_classes(), 0) {}

void S3FifoPolicy::Enter(int number, Where where) {
  Queues& queues = queues_[order_.ClassOf(number)];
  where_[number] = where;
  const Entry entry = {number, ++stamps_[number]};
  if (where == Where::kGhost) {
    queues.ghosts.push_back(entry);
    ++queues.num_ghosts;
    for (int oldest = 0; queues.num_ghosts > std::max(1, queues.num_slots);) {
      CHECK(PopCurrent(queues.ghosts, Where::kGhost, oldest));
      Leave(oldest);
    }
  } else if (where == Where::kSmall) {
    queues.small.push_back(entry);
    ++queues.num_small;
  } else {
    queues.main.push_back(entry);
    ++queues.num_main;
  }
}

void S3FifoPolicy::Leave(int number) {
  Queues& queues = queues_[order_.ClassOf(number)];
  if (where_[number] == Where::kSmall) --queues.num_small;
  if (where_[number] == Where::kMain) --queues.num_main;
  if (where_[number] == Where::kGhost) --queues.num_ghosts;
  where_[number] = Where::kNowhere;
  ++stamps_[number];
}

bool S3FifoPolicy::PopCurrent(std::deque<Entry>& queue, Where where, int& number) {
  while (!queue.empty()) {
    const Entry entry = queue.front();
    queue.pop_front();
    if (entry.stamp != stamps_[entry.number] || where_[entry.number] != where) continue;
    number = entry.number;
    return true;
  }
  return false;
}

int S3FifoPolicy::Evict(Queues& queues) {
  const int small_slots = std::max(1, queues.num_slots / kSmallShare);
  for (int number = 0;;) {
    if (queues.num_small >= small_slots || queues.num_main == 0) {
      if (!PopCurrent(queues.small, Where::kSmall, number)) return -1;
      const bool was_used_again = uses_[number] > 1;
      Leave(number);
      Enter(number, was_used_again ? Where::kMain : Where::kGhost);
      if (!was_used_again) return number;
      uses_[number] = 0;
    } else {
      CHECK(PopCurrent(queues.main, Where::kMain, number));
      Leave(number);
      if (uses_[number] == 0) return number;
      --uses_[number];
      Enter(number, Where::kMain);
    }
  }
}

void S3FifoPolicy::SetPlace(int number, Place place) {
  places_[number] = place;
  if (place == Place::kSlot && !IsQueued(number)) {
    if (where_[number] == Where::kGhost) Leave(number);
    uses_[number] = 0;
    Enter(number, std::exchange(enters_[number], Where::kMain));
  } else if (place != Place::kSlot && IsQueued(number)) {
    Leave(number);
  }
}

void S3FifoPolicy::TakeBackVictims() {
  for (const Admission& admission : admissions_) {
    if (admission.victim < 0 || places_[admission.victim] != Place::kSlot) continue;
    SetPlace(admission.victim, Place::kSlot);
  }
  admissions_.clear();
}

absl::Span<const ExpertPolicy::Admission> S3FifoPolicy::EndStep(const Step& step) {
  TakeBackVictims();
  for (const ExpertUse& use : step.uses) {
    const int uses = std::min<int>(kMostUses, uses_[use.number] + use.accepted);
    if (places_[use.number] == Place::kSlot) uses_[use.number] = static_cast<uint8_t>(uses);
  }
  CHECK_EQ(step.num_empty.size(), num_empty_.size());
  for (size_t i = 0; i < num_empty_.size(); ++i) {
    num_empty_[i] = step.num_empty[i];
    queues_[i].num_slots = queues_[i].num_small + queues_[i].num_main + num_empty_[i];
  }
  for (const int candidate : step.candidates) {
    if (places_[candidate] != Place::kHost) continue;
    const int size_class = order_.ClassOf(candidate);
    // Its victim may push the ghost out.
    const Where enters = where_[candidate] == Where::kGhost ? Where::kMain : Where::kSmall;
    int victim = -1;
    if (num_empty_[size_class] > 0) {
      --num_empty_[size_class];
    } else if (victim = Evict(queues_[size_class]); victim < 0) {
      continue;
    }
    admissions_.push_back({.newcomer = candidate, .victim = victim});
    enters_[candidate] = enters;
  }
  return admissions_;
}

}  // namespace strata
