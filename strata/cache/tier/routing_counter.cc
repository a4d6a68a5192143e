#include "strata/cache/tier/routing_counter.h"

#include <cstdint>

#include "absl/strings/string_view.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/tier_counters.h"

namespace strata {

absl::string_view NameOf(MissPath path) {
  constexpr absl::string_view kNames[kNumMissPaths] = {"read", "cpu", "stage"};
  return kNames[static_cast<int>(path)];
}

RoutingCounter::RoutingCounter(const ExpertGeometry& geometry, const ExpertTable& table,
                               MissPath path, TierCounters& counters)
    : geometry_(geometry),
      table_(table),
      counters_(counters),
      path_(path),
      last_step_(geometry.size(), -1) {}

void RoutingCounter::Count(int number, int64_t step, int uses) {
  const EntryForm form = table_.entry(number).form;
  counters_.routed += uses;
  if (form == EntryForm::kSlot) {
    counters_.hits += uses;
  } else {
    const MissPath path = form == EntryForm::kStage ? MissPath::kStage : path_;
    counters_.misses[static_cast<int>(path)] += uses;
  }
  if (last_step_[number] == step) return;
  last_step_[number] = step;
  counters_.bytes[static_cast<int>(form)] += geometry_.LayerOf(number).expert_bytes;
}

}  // namespace strata
