#include "strata/cache/simulate/cache_state.h"

#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

CacheState::CacheState(const ExpertGeometry& geometry) : resident_(geometry.size(), 0) {
  for (int number = 0; number < geometry.size(); ++number) {
    expert_bytes_.push_back(geometry.LayerOf(number).expert_bytes);
  }
}

void CacheState::CountStep(absl::Span<const ExpertUse> uses, int num_tokens,
                           std::vector<int>& missed) {
  missed.clear();
  ++counts_.steps;
  counts_.tokens += num_tokens;
  counts_.uses += static_cast<int64_t>(uses.size());
  for (const ExpertUse& use : uses) {
    counts_.routed += use.routed;
    if (resident_[use.number] != 0) {
      counts_.hits += use.routed;
      counts_.slot_bytes += expert_bytes_[use.number];
    } else {
      counts_.link_bytes += expert_bytes_[use.number];
      ++counts_.missed_uses;
      if (use.accepted > 0) missed.push_back(use.number);
    }
  }
}

}  // namespace strata
