// What policies ask of every expert: its size class and its rank in a profile, by which experts of
// equal heat are told apart.
//
// Immutable.
#ifndef STRATA_CACHE_POLICY_EXPERT_ORDER_H_
#define STRATA_CACHE_POLICY_EXPERT_ORDER_H_

#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {

class ExpertOrder {
 public:
  // `hottest_first` as for SlotPlan; may be empty.
  ExpertOrder(const ExpertGeometry& geometry, absl::Span<const int> hottest_first);

  int num_experts() const { return static_cast<int>(rank_.size()); }
  int num_classes() const { return num_classes_; }
  int ClassOf(int number) const { return class_[number]; }
  int Rank(int number) const { return rank_[number]; }

 private:
  int num_classes_ = 0;
  std::vector<int> class_;
  std::vector<int> rank_;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_EXPERT_ORDER_H_
