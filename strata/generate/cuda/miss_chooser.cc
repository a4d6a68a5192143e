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
    if (steps_ == kTrialSteps) {
      EndTrial(median_ms_[IndexOf(way_)]);
    } else if (steps_ > 1 && IsClearlyWorse(ms)) {
      EndTrial(ms);
    }
    return;
  }
  if (--until_trial_ > 0) return;
  in_trial_ = true;
  way_ = Other(way_);
  steps_ = 0;
}

bool MissChooser::IsClearlyWorse(double ms) const {
  const double other = median_ms_[IndexOf(Other(way_))];
  return has_tried_both_ && ms > kClearlyWorse * other;
}

void MissChooser::EndTrial(double own) {
  const Way tried = way_;
  const int num_steps = steps_;
  if (!has_tried_both_ && tried == Way::kRead) {
    way_ = Way::kCpu;
    steps_ = 0;
    return;
  }
  const double other = median_ms_[IndexOf(Other(tried))];
  in_trial_ = false;
  const bool stays = own < kBetterBy * other;
  const double better = stays ? own : other, worse = stays ? other : own;
  if (!stays) {
    way_ = Other(tried);
    steps_ = 0;
  }
  // The first trials say nothing of what lasts, nor does a change.
  back_off_ = stays || !has_tried_both_ ? 1 : std::min(2 * back_off_, kMostBackOff);
  has_tried_both_ = true;
  const double lost = better > 0 ? num_steps * std::max(0.0, worse / better - 1) : 0;
  until_trial_ = std::max<int64_t>(int64_t{kStepsBetween} * back_off_,
                                   static_cast<int64_t>(lost / kTrialShare));
}

}  // namespace strata
