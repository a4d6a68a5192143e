// The experts of a size class in the order of their last use, and how deep each lies: by how many
// of the class that were used since, or in the same step but are the hotter by rank, it is covered.
//
// Experts of one step stay a group, so a step costs a walk through the sizes of the groups and
// through the members of those that it takes experts from: some 40 ns a use for a large model,
// where a tree of all experts costs ten times as much. Used by one thread.
#ifndef STRATA_CACHE_SIMULATE_RECENCY_GROUPS_H_
#define STRATA_CACHE_SIMULATE_RECENCY_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

class RecencyGroups {
 public:
  static constexpr int kNowhere = -1;

  // `order` outlives it.
  explicit RecencyGroups(const ExpertOrder& order);

  // Experts that were used before the first step, the hottest first: one group.
  void Start(absl::Span<const int> hottest_first);
  // The depth of each use before this step, in `depths`; kNowhere without a use before. Those that
  // accepted tokens used are on top afterwards.
  void AddStep(absl::Span<const ExpertUse> uses, std::vector<int>& depths);

 private:
  struct Group {
    std::vector<int> members;  // Hottest first.
    int size = 0;
    int num_newer = 0;  // Of the step that is being added.
    bool is_touched = false;
  };

  void Walk(Group& group, absl::Span<const ExpertUse> uses, std::vector<int>& depths);
  void AddGroup(absl::Span<const ExpertUse> uses);
  void DropEmpty();

  const ExpertOrder& order_;
  std::vector<int> number_of_rank_;
  std::vector<uint64_t> used_ranks_;  // A bit for each rank, of the step.
  std::vector<int> group_of_;         // By number; kNowhere.
  std::vector<int> use_of_;           // By number, of the step: its place among the uses; kNowhere.
  std::vector<Group> groups_;         // The oldest first.
  std::vector<Group> spares_;         // Their memory is used again.
  int num_empty_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_RECENCY_GROUPS_H_
