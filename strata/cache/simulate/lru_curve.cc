#include "strata/cache/simulate/lru_curve.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/simulate/recency_stack.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {

LruCurve::LruCurve(const RoutingLog& log, absl::Span<const int> hottest_first, bool starts_filled) {
  const ExpertGeometry& geometry = log.geometry();
  const ExpertOrder order(geometry, hottest_first);
  std::vector<int> sizes(order.num_classes(), 0);
  for (int number = 0; number < geometry.size(); ++number) ++sizes[order.ClassOf(number)];
  std::vector<RecencyStack> stacks;
  for (const int size : sizes) {
    stacks.emplace_back(geometry.size(), size);
    const std::vector<int64_t> zeros(size + 1, 0);
    classes_.push_back({.entries = zeros, .uses = zeros, .bytes = zeros});
  }
  if (starts_filled) {
    std::vector<int> ranking = SlotPlan::CompleteRanking(geometry, hottest_first);
    std::reverse(ranking.begin(), ranking.end());
    for (const int number : ranking) stacks[order.ClassOf(number)].MoveToTop(number);
  }
  std::vector<int64_t> expert_bytes;
  for (int number = 0; number < geometry.size(); ++number) {
    expert_bytes.push_back(geometry.LayerOf(number).expert_bytes);
  }
  std::vector<int> coldest_first;  // Of a step.
  for (size_t step = 0; step < log.num_steps(); ++step) {
    ++totals_.steps;
    totals_.tokens += log.num_tokens(step);
    coldest_first.clear();
    for (const ExpertUse& use : log.uses(step)) {
      const int size_class = order.ClassOf(use.number);
      OfClass& of_class = classes_[size_class];
      const int depth = stacks[size_class].Depth(use.number);
      const size_t bin = depth == RecencyStack::kNowhere ? sizes[size_class] : depth;
      of_class.entries[bin] += use.routed;
      ++of_class.uses[bin];
      of_class.bytes[bin] += expert_bytes[use.number];
      if (use.accepted > 0) coldest_first.push_back(use.number);
    }
    std::sort(coldest_first.begin(), coldest_first.end(),
              [&](int a, int b) { return order.Rank(a) > order.Rank(b); });
    for (const int number : coldest_first) stacks[order.ClassOf(number)].MoveToTop(number);
  }
}

ReplayCounts LruCurve::Counts(absl::Span<const int> slots_of_class) const {
  CHECK_EQ(slots_of_class.size(), classes_.size());
  ReplayCounts counts = totals_;
  for (size_t i = 0; i < classes_.size(); ++i) {
    const OfClass& of_class = classes_[i];
    for (size_t distance = 0; distance < of_class.entries.size(); ++distance) {
      const bool is_hit = static_cast<int>(distance) < slots_of_class[i];
      counts.routed += of_class.entries[distance];
      counts.uses += of_class.uses[distance];
      counts.hits += is_hit ? of_class.entries[distance] : 0;
      counts.missed_uses += is_hit ? 0 : of_class.uses[distance];
      (is_hit ? counts.slot_bytes : counts.link_bytes) += of_class.bytes[distance];
    }
  }
  return counts;
}

}  // namespace strata
