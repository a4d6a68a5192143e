// The experts that the router chose in one step of the engine: what profiles count, traces keep and
// replays read.
//
// Plain values.
#ifndef STRATA_CACHE_EXPERTS_ROUTED_STEP_H_
#define STRATA_CACHE_EXPERTS_ROUTED_STEP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {

struct RoutedStep {
  enum class Kind { kPrompt, kDecode };

  int64_t number = 0;          // Steps of the run before this one.
  int64_t first_position = 0;  // Of its tokens in the text.
  Kind kind = Kind::kPrompt;
  int num_tokens = 0;
  int num_accepted = 0;  // The first so many stayed in the text; all, without speculation.
  // Indices within the layer: for each layer of the geometry, each token, each rank.
  std::vector<uint16_t> experts;

  // Of one token, best first. `layer` is an index of geometry.layers().
  absl::Span<const uint16_t> Chosen(const ExpertGeometry& geometry, size_t layer, int token) const {
    const size_t row = layer * static_cast<size_t>(num_tokens) + static_cast<size_t>(token);
    const auto num_used = static_cast<size_t>(geometry.num_used());
    return absl::MakeConstSpan(experts).subspan(row * num_used, num_used);
  }

  friend bool operator==(const RoutedStep&, const RoutedStep&) = default;
};

}  // namespace strata

#endif  // STRATA_CACHE_EXPERTS_ROUTED_STEP_H_
