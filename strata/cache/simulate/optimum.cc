#include "strata/cache/simulate/optimum.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/simulate/cache_state.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/simulate/routing_log.h"

namespace strata {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

// By use of the log, in its order: the step of the same expert's next one. `first` becomes that of
// each expert's first one.
std::vector<int32_t> NextUses(const RoutingLog& log, std::vector<int32_t>& first) {
  std::vector<int32_t> next(static_cast<size_t>(log.num_uses()));
  first.assign(log.geometry().size(), kNever);
  size_t use = next.size();
  for (size_t step = log.num_steps(); step-- > 0;) {
    const absl::Span<const ExpertUse> uses = log.uses(step);
    for (size_t i = uses.size(); i-- > 0;) {
      next[--use] = first[uses[i].number];
      first[uses[i].number] = static_cast<int32_t>(step);
    }
  }
  return next;
}

// Experts of one class of slots by their next use, the last on top. Entries that their expert's
// next use has passed, or whose expert has left, are none.
class FarthestFirst {
 public:
  explicit FarthestFirst(int num_slots) : num_slots_(num_slots) {}

  void Push(int32_t next, int number, bool is_new) {
    heap_.emplace(next, number);
    if (is_new) ++size_;
  }
  // Takes out those that are used last until as many are left as there are slots.
  template <typename IsCurrent, typename Leave>
  void Trim(const IsCurrent& is_current, const Leave& leave) {
    while (size_ > num_slots_) {
      const auto [next, number] = heap_.top();
      heap_.pop();
      if (!is_current(next, number)) continue;
      leave(number);
      --size_;
    }
  }

 private:
  const int num_slots_;
  int size_ = 0;
  std::priority_queue<std::pair<int32_t, int>> heap_;
};

ReplayCounts Replay(const RoutingLog& log, const std::vector<int>& class_of,
                    absl::Span<const int> slots, absl::Span<const int> residents) {
  std::vector<int32_t> next_of;  // By expert.
  const std::vector<int32_t> next = NextUses(log, next_of);
  CacheState state(log.geometry());
  std::vector<FarthestFirst> classes(slots.begin(), slots.end());
  std::vector<int> missed;
  const auto trim = [&] {
    for (FarthestFirst& experts : classes) {
      experts.Trim([&](int32_t step,
                       int number) { return state.IsResident(number) && next_of[number] == step; },
                   [&](int number) { state.SetResident(number, false); });
    }
  };
  for (const int number : residents) {
    state.SetResident(number, true);
    classes[class_of[number]].Push(next_of[number], number, /*is_new=*/true);
  }
  trim();
  for (size_t step = 0, use = 0; step < log.num_steps(); ++step) {
    state.CountStep(log.uses(step), log.num_tokens(step), missed);
    for (const ExpertUse& used : log.uses(step)) {
      const bool is_new = !state.IsResident(used.number);
      next_of[used.number] = next[use++];
      state.SetResident(used.number, true);
      classes[class_of[used.number]].Push(next_of[used.number], used.number, is_new);
    }
    trim();
    for (const int number : missed) {
      if (state.IsResident(number)) ++state.counts().admissions;
    }
  }
  return state.counts();
}

}  // namespace

ReplayCounts Optimum(const RoutingLog& log, absl::Span<const int> slots_of_class,
                     absl::Span<const int> residents) {
  const ExpertOrder order(log.geometry(), {});
  std::vector<int> class_of(log.geometry().size());
  for (size_t number = 0; number < class_of.size(); ++number) {
    class_of[number] = order.ClassOf(static_cast<int>(number));
  }
  return Replay(log, class_of, slots_of_class, residents);
}

int64_t OptimumBound(const RoutingLog& log, int64_t bytes, absl::Span<const int> residents) {
  const ExpertGeometry& geometry = log.geometry();
  int64_t smallest = std::numeric_limits<int64_t>::max();
  for (const ExpertGeometry::Layer& layer : geometry.layers()) {
    smallest = std::min(smallest, layer.blob_bytes);
  }
  const int64_t num_slots = std::min<int64_t>(geometry.size(), bytes / smallest);
  return Replay(log, std::vector<int>(geometry.size(), 0), {static_cast<int>(num_slots)}, residents)
      .missed_uses;
}

}  // namespace strata
