#include "strata/cache/simulate/recency_stack.h"

#include <algorithm>
#include <vector>

namespace strata {
namespace {

// Moments before a renumbering, for each expert on the stack.
constexpr int kMomentsPerExpert = 3;
constexpr int kLeastMoments = 64;

}  // namespace

RecencyStack::RecencyStack(int num_experts, int most)
    : moments_(num_experts, kNowhere),
      experts_(std::max(kLeastMoments, kMomentsPerExpert * most), kNowhere),
      tree_(experts_.size() + 1, 0) {}

void RecencyStack::MoveToTop(int number) {
  if (now_ == static_cast<int>(experts_.size())) Renumber();
  int& moment = moments_[number];
  if (moment >= 0) {
    AddAt(moment, -1);
    experts_[moment] = kNowhere;
  } else {
    ++size_;
  }
  moment = now_++;
  experts_[moment] = number;
  AddAt(moment, 1);
}

void RecencyStack::Renumber() {
  now_ = 0;
  for (const int number : experts_) {
    if (number == kNowhere) continue;
    moments_[number] = now_;
    experts_[now_++] = number;
  }
  std::fill(experts_.begin() + now_, experts_.end(), kNowhere);
  std::fill(tree_.begin(), tree_.end(), 0);
  for (int moment = 0; moment < now_; ++moment) AddAt(moment, 1);
}

}  // namespace strata
