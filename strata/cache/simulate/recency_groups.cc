#include "strata/cache/simulate/recency_groups.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

RecencyGroups::RecencyGroups(const ExpertOrder& order)
    : order_(order),
      number_of_rank_(order.num_experts()),
      used_ranks_(order.num_experts() / 64 + 1, 0),
      group_of_(order.num_experts(), kNowhere),
      use_of_(order.num_experts(), kNowhere) {
  for (int number = 0; number < order.num_experts(); ++number) {
    number_of_rank_[order.Rank(number)] = number;
  }
}

void RecencyGroups::Start(absl::Span<const int> hottest_first) {
  Group group = {.members = {hottest_first.begin(), hottest_first.end()},
                 .size = static_cast<int>(hottest_first.size())};
  for (const int number : hottest_first) group_of_[number] = static_cast<int>(groups_.size());
  groups_.push_back(std::move(group));
}

void RecencyGroups::AddStep(absl::Span<const ExpertUse> uses, std::vector<int>& depths) {
  depths.assign(uses.size(), kNowhere);
  int oldest = static_cast<int>(groups_.size());
  for (size_t i = 0; i < uses.size(); ++i) {
    const int number = uses[i].number;
    use_of_[number] = static_cast<int>(i);
    const int group = group_of_[number];
    if (group == kNowhere) continue;
    groups_[group].is_touched = true;
    oldest = std::min(oldest, group);
  }
  int num_newer = 0;
  for (int i = static_cast<int>(groups_.size()) - 1; i >= oldest; --i) {
    Group& group = groups_[i];
    const int size = group.size;
    if (group.is_touched) {
      group.num_newer = num_newer;
      Walk(group, uses, depths);
    }
    num_newer += size;
  }
  for (const ExpertUse& use : uses) use_of_[use.number] = kNowhere;
  AddGroup(uses);
  if (num_empty_ > static_cast<int>(groups_.size()) / 2) DropEmpty();
}

void RecencyGroups::Walk(Group& group, absl::Span<const ExpertUse> uses, std::vector<int>& depths) {
  size_t num_left = 0;
  int position = group.num_newer;
  for (const int member : group.members) {
    const int use = use_of_[member];
    if (use != kNowhere) depths[use] = position;
    ++position;
    if (use == kNowhere || uses[use].accepted == 0) group.members[num_left++] = member;
  }
  group.members.resize(num_left);
  group.size = static_cast<int>(num_left);
  group.is_touched = false;
  if (group.size == 0) ++num_empty_;
}

// In the order of ranks, by a bit for each.
void RecencyGroups::AddGroup(absl::Span<const ExpertUse> uses) {
  for (const ExpertUse& use : uses) {
    if (use.accepted == 0) continue;
    const int rank = order_.Rank(use.number);
    used_ranks_[rank / 64] |= uint64_t{1} << rank % 64;
  }
  Group group;
  if (!spares_.empty()) {
    group = std::move(spares_.back());
    spares_.pop_back();
  }
  for (size_t word = 0; word < used_ranks_.size(); ++word) {
    for (uint64_t bits = std::exchange(used_ranks_[word], 0); bits != 0; bits &= bits - 1) {
      const int number = number_of_rank_[word * 64 + std::countr_zero(bits)];
      group.members.push_back(number);
      group_of_[number] = static_cast<int>(groups_.size());
    }
  }
  group.size = static_cast<int>(group.members.size());
  if (group.size > 0) groups_.push_back(std::move(group));
}

void RecencyGroups::DropEmpty() {
  size_t num_left = 0;
  for (Group& group : groups_) {
    if (group.size == 0) {
      spares_.push_back(std::move(group));
      continue;
    }
    for (const int member : group.members) group_of_[member] = static_cast<int>(num_left);
    if (&groups_[num_left] != &group) groups_[num_left] = std::move(group);
    ++num_left;
  }
  groups_.resize(num_left);
  num_empty_ = 0;
}

}  // namespace strata
