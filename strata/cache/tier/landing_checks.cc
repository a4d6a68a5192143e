#include "strata/cache/tier/landing_checks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

constexpr int64_t kSampleOneIn = 16;

}  // namespace

LandingChecks::LandingChecks(const Residency& residency, ExpertMover& mover, SlotVerify verify,
                             int max_landings)
    : residency_(residency), mover_(mover), verify_(verify) {
  items_.reserve(max_landings);
  experts_.reserve(max_landings);
}

void LandingChecks::Add(const Residency::Placement& placement) {
  items_.push_back({residency_.IdOf(placement.expert), residency_.slots().data(placement.slot)});
  experts_.push_back(placement.expert);
}

absl::Status LandingChecks::CheckBeforeShown(absl::Span<const Residency::Placement> arriving) {
  if (verify_ != SlotVerify::kAll || arriving.empty()) return absl::OkStatus();
  for (const Residency::Placement& each : arriving) Add(each);
  mover_.StartChecks(items_);
  reading_ = true;
  return Finish();
}

void LandingChecks::NoteShown(absl::Span<const Residency::Placement> shown) {
  if (verify_ != SlotVerify::kFirst && verify_ != SlotVerify::kSample) return;
  for (const Residency::Placement& each : shown) {
    const bool is_of_sample = verify_ == SlotVerify::kSample && num_shown_ % kSampleOneIn == 0;
    const bool is_chosen = num_shown_++ == 0 || is_of_sample;
    // What cannot be read now is not: its slot may soon be another's.
    if (is_chosen && !reading_ && !mover_.busy()) Add(each);
  }
}

absl::Status LandingChecks::Advance() {
  if (reading_) return mover_.running() ? absl::OkStatus() : Take();
  if (items_.empty()) return absl::OkStatus();
  mover_.StartChecks(items_);
  reading_ = true;
  return absl::OkStatus();
}

bool LandingChecks::Reads(int expert) const {
  return reading_ && std::find(experts_.begin(), experts_.end(), expert) != experts_.end();
}

absl::Status LandingChecks::Finish() {
  if (!reading_) return absl::OkStatus();
  const int64_t before = mover_.num_waits();
  mover_.Wait();
  num_waits_ += mover_.num_waits() - before;
  return Take();
}

absl::Status LandingChecks::Take() {
  ExpertMover::Outcome outcome = mover_.Take();
  if (outcome.status.ok()) num_verified_ += std::ssize(items_);
  items_.clear();
  experts_.clear();
  reading_ = false;
  return std::move(outcome.status);
}

}  // namespace strata
