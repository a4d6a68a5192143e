#include "strata/cache/policy/expert_order.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/slot_plan.h"

namespace strata {

ExpertOrder::ExpertOrder(const ExpertGeometry& geometry, absl::Span<const int> hottest_first)
    : rank_(geometry.size()) {
  const std::vector<int64_t> class_bytes = SizeClassesOf(geometry);
  num_classes_ = static_cast<int>(class_bytes.size());
  for (int number = 0; number < geometry.size(); ++number) {
    class_.push_back(SizeClassOf(class_bytes, geometry.BlobBytes(number)));
  }
  const std::vector<int> ranking = SlotPlan::CompleteRanking(geometry, hottest_first);
  for (size_t i = 0; i < ranking.size(); ++i) rank_[ranking[i]] = static_cast<int>(i);
}

}  // namespace strata
