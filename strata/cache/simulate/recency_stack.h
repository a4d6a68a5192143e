// The experts of a size class in the order of their last use, and how deep each lies: the number of
// those that were used after it. A binary indexed tree over the moments of use, renumbered when
// they run out: O(log experts) a call.
//
// Used by one thread.
#ifndef STRATA_CACHE_SIMULATE_RECENCY_STACK_H_
#define STRATA_CACHE_SIMULATE_RECENCY_STACK_H_

#include <vector>

namespace strata {

class RecencyStack {
 public:
  static constexpr int kNowhere = -1;

  // Of expert numbers below `num_experts`, of which at most `most` are ever on the stack.
  RecencyStack(int num_experts, int most);

  // kNowhere for an expert that was never put on top.
  int Depth(int number) const {
    const int moment = moments_[number];
    return moment < 0 ? kNowhere : size_ - SumTo(moment + 1);
  }
  void MoveToTop(int number);

 private:
  // Experts at the moments before `end`.
  int SumTo(int end) const {
    int sum = 0;
    for (; end > 0; end &= end - 1) sum += tree_[end];
    return sum;
  }
  void AddAt(int moment, int value) {
    for (int i = moment + 1; i < static_cast<int>(tree_.size()); i += i & -i) tree_[i] += value;
  }
  void Renumber();

  std::vector<int> moments_;  // By number; kNowhere.
  std::vector<int> experts_;  // By moment; kNowhere when its expert has moved on.
  std::vector<int> tree_;
  int now_ = 0;
  int size_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_RECENCY_STACK_H_
