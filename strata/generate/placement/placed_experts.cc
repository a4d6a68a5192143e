#include "strata/generate/placement/placed_experts.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/status_macros.h"

namespace strata {

absl::Status PlacedExperts::ForEachPart(int layer, absl::Span<const int> chosen, Use use) {
  in_place_.clear();
  to_stage_.clear();
  const int first_of_layer = placement_.geometry().NumberOf({.layer = layer, .index = 0});
  for (const int expert : chosen) {
    const ExpertEntry& entry = placement_.Entry(first_of_layer + expert);
    if (entry.form == EntryForm::kStage) {
      to_stage_.push_back(expert);
    } else {
      in_place_.push_back({.expert = expert, .parts = entry.parts});
    }
  }
  for (const int expert : to_stage_) {
    const ExpertId id = {.layer = layer, .index = expert};
    placement_.host().source().Prefetch({&id, 1});
  }
  if (!in_place_.empty()) RETURN_IF_ERROR(use(in_place_));
  const absl::Cleanup no_more_leases = [this] { stages_.clear(); };
  for (absl::Span<const int> left = to_stage_; !left.empty();) {
    ASSIGN_OR_RETURN(const size_t num_staged, StageSome(layer, left));
    RETURN_IF_ERROR(use(staged_));
    left.remove_prefix(num_staged);
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> PlacedExperts::StageSome(int layer, absl::Span<const int> experts) {
  staged_.clear();
  stages_.clear();
  for (const int expert : experts) {
    std::optional<StagePool::Stage> stage = placement_.host().stages().TryAcquire();
    if (!stage.has_value()) {
      // Fills and swaps hold the others.
      if (!staged_.empty()) break;
      ASSIGN_OR_RETURN(stage, placement_.host().stages().Acquire());
    }
    ASSIGN_OR_RETURN(const HostBlob blob, placement_.host().source().ReadToStage(
                                              {.layer = layer, .index = expert}, *stage));
    Location& location = staged_.emplace_back();
    location.expert = expert;
    for (size_t part = 0; part < location.parts.size(); ++part) {
      location.parts[part] = blob.part_array[part].bytes.data();
    }
    stages_.push_back(*std::move(stage));
  }
  return staged_.size();
}

}  // namespace strata
