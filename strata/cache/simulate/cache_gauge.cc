#include "strata/cache/simulate/cache_gauge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/simulate/lru_curve.h"
#include "strata/cache/simulate/optimum.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {
namespace {

double ShareOfUses(int64_t part, int64_t uses) {
  return uses == 0 ? 0 : static_cast<double>(part) / static_cast<double>(uses);
}

double HitShare(const ReplayCounts& counts) {
  return ShareOfUses(counts.uses - counts.missed_uses, counts.uses);
}

// As the slots are divided among the classes, so are the new ones, by bytes.
std::vector<int> WithMore(const ExpertGeometry& geometry, absl::Span<const int> slots,
                          int64_t more_bytes) {
  const std::vector<int64_t> class_bytes = SizeClassesOf(geometry);
  double all_bytes = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    all_bytes += static_cast<double>(class_bytes[i]) * slots[i];
  }
  std::vector<int> more(slots.begin(), slots.end());
  if (all_bytes == 0) return more;
  const double growth = 1 + static_cast<double>(more_bytes) / all_bytes;
  for (int& num_slots : more) {
    num_slots = static_cast<int>(std::min<double>(geometry.size(), num_slots * growth));
  }
  return more;
}

}  // namespace

CacheGauge::CacheGauge(const ExpertGeometry& geometry, size_t window)
    : geometry_(geometry), ring_(window) {
  CHECK_GT(window, 0u);
}

void CacheGauge::AddStep(absl::Span<const ExpertUse> uses, int num_missed) {
  StepOf& step = ring_[num_steps_++ % ring_.size()];
  step.uses.assign(uses.begin(), uses.end());
  step.num_missed = num_missed;
}

CacheGauge::Reading CacheGauge::Report(absl::Span<const int> slots_of_class,
                                       int64_t more_bytes) const {
  RoutingLog log(geometry_);
  const size_t num_kept = std::min(num_steps_, ring_.size());
  int64_t missed = 0;
  for (size_t i = num_steps_ - num_kept; i < num_steps_; ++i) {
    const StepOf& step = ring_[i % ring_.size()];
    log.AddUses(step.uses, 1);
    missed += step.num_missed;
  }
  const std::vector<int64_t> counts = log.Counts();
  std::vector<int> hottest(geometry_.size());
  std::iota(hottest.begin(), hottest.end(), 0);
  std::stable_sort(hottest.begin(), hottest.end(),
                   [&](int a, int b) { return counts[a] > counts[b]; });
  const ExpertOrder order(geometry_, hottest);
  std::vector<int> left(slots_of_class.begin(), slots_of_class.end());
  std::vector<int> residents;
  int64_t static_hits = 0;
  for (const int number : hottest) {
    if (left[order.ClassOf(number)]-- <= 0) continue;
    residents.push_back(number);
    static_hits += counts[number];
  }
  const int64_t entries = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const LruCurve curve(log, hottest, /*starts_filled=*/true);
  const ReplayCounts lru = curve.Counts(slots_of_class);
  const ReplayCounts more = curve.Counts(WithMore(geometry_, slots_of_class, more_bytes));
  return {
      .steps = num_kept,
      .hit_rate = ShareOfUses(log.num_uses() - missed, log.num_uses()),
      .best_static = ShareOfUses(static_hits, entries),
      .optimum = HitShare(Optimum(log, slots_of_class, residents)),
      .lru = HitShare(lru),
      .lru_with_more = HitShare(more),
      .saved_bytes = ShareOfUses(lru.link_bytes - more.link_bytes, static_cast<int64_t>(num_kept))};
}

}  // namespace strata
