#include "strata/generate/cuda/miss_chooser.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace strata {
namespace {

size_t IndexOf(MissChooser::Way way) { return static_cast<size_t>(way); }

MissChooser::Way Other(MissChooser::Way way) {
  return way == MissChooser::Way::kRead ? MissChooser::Way::kCpu : MissChooser::Way::kRead;
}

}  // namespace

void MissChooser::AddStep(double ms) {
  if (steps_ > 0) recent_[static_cast<size_t>(steps_ - 1) % recent_.size()] = ms;
  ++steps_;
  if (steps_ > static_cast<int>(recent_.size())) {
    auto sorted = recent_;
    std::sort(sorted.begin(), sorted.end());
    median_ms_[IndexOf(way_)] = (sorted[sorted.size() / 2 - 1] + sorted[sorted.size() / 2]) / 2;
  }
  if (in_trial_) {
    if (steps_ == kTrialSteps) EndTrial();
    return;
  }
  if (--until_trial_ > 0) return;
  in_trial_ = true;
  way_ = Other(way_);
  steps_ = 0;
}

void MissChooser::EndTrial() {
  const Way tried = way_;
  if (!has_tried_both_ && tried == Way::kRead) {
    way_ = Way::kCpu;
    steps_ = 0;
    return;
  }
  const double own = median_ms_[IndexOf(tried)];
  const double other = median_ms_[IndexOf(Other(tried))];
  has_tried_both_ = true;
  in_trial_ = false;
  const bool stays = own < kBetterBy * other;
  const double better = stays ? own : other, worse = stays ? other : own;
  if (!stays) {
    way_ = Other(tried);
    steps_ = 0;
  }
  const double lost = better > 0 ? kTrialSteps * std::max(0.0, worse / better - 1) : 0;
  until_trial_ = std::max<int64_t>(kStepsBetween, static_cast<int64_t>(lost / kTrialShare));
}

}  // namespace strata
