#include "strata/cache/simulate/lru_curve.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/simulate/recency_groups.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {

LruCurve::LruCurve(const RoutingLog& log, absl::Span<const int> hottest_first, bool starts_filled) {
  const ExpertGeometry& geometry = log.geometry();
  const ExpertOrder order(geometry, hottest_first);
  std::vector<std::vector<int>> ranked(order.num_classes());
  for (const int number : SlotPlan::CompleteRanking(geometry, hottest_first)) {
    ranked[order.ClassOf(number)].push_back(number);
  }
  std::vector<RecencyGroups> groups(ranked.size(), RecencyGroups(order));
  for (size_t i = 0; i < ranked.size(); ++i) {
    if (starts_filled) groups[i].Start(ranked[i]);
    const std::vector<int64_t> zeros(ranked[i].size() + 1, 0);
    classes_.push_back({.entries = zeros, .uses = zeros, .bytes = zeros});
  }
  for (int number = 0; number < geometry.size(); ++number) {
    expert_bytes_.push_back(geometry.LayerOf(number).expert_bytes);
  }
  std::vector<int> depths;
  std::vector<ExpertUse> of_class;
  for (size_t step = 0; step < log.num_steps(); ++step) {
    ++totals_.steps;
    totals_.tokens += log.num_tokens(step);
    for (size_t i = 0; i < groups.size(); ++i) {
      absl::Span<const ExpertUse> uses = log.uses(step);
      if (groups.size() > 1) {
        of_class.clear();
        for (const ExpertUse& use : uses) {
          if (order.ClassOf(use.number) == static_cast<int>(i)) of_class.push_back(use);
        }
        uses = of_class;
      }
      groups[i].AddStep(uses, depths);
      Add(uses, depths, classes_[i]);
    }
  }
}

void LruCurve::Add(absl::Span<const ExpertUse> uses, absl::Span<const int> depths,
                   OfClass& of_class) {
  for (size_t i = 0; i < uses.size(); ++i) {
    const size_t bin = depths[i] == RecencyGroups::kNowhere ? of_class.uses.size() - 1 : depths[i];
    of_class.entries[bin] += uses[i].routed;
    ++of_class.uses[bin];
    of_class.bytes[bin] += expert_bytes_[uses[i].number];
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
