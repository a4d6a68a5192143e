#include "strata/generate/engine/expert_weights.h"

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

absl::Status MappedExperts::ForEachPart(int /*block*/, const MixtureOfExperts& experts,
                                        absl::Span<const int> chosen, Use use) {
  places_.clear();
  for (const int expert : chosen) {
    places_.push_back({.expert = expert,
                       .gate = experts.gate.data[expert],
                       .up = experts.up.data[expert],
                       .down = experts.down.data[expert]});
  }
  return use(places_);
}

}  // namespace strata
