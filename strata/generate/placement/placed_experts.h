// Experts under a tier, as the CPU's engine uses them: where the table's entries point, and for an
// entry that points nowhere in a leased stage.
//
// Used by the engine's thread. The placement outlives it.
#ifndef STRATA_GENERATE_PLACEMENT_PLACED_EXPERTS_H_
#define STRATA_GENERATE_PLACEMENT_PLACED_EXPERTS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/device_event.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {

class PlacedExperts : public ExpertWeights {
 public:
  explicit PlacedExperts(ExpertPlacement& placement) : placement_(placement) {}

  absl::Status ForEachPart(int layer, absl::Span<const int> chosen, Use use) override;
  void BeginStep() override { placement_.BeginStep(); }
  void EndStep(const absl::Status& outcome, absl::Span<const StepRow> rows,
               const StepRouting& routing) override {
    placement_.EndStep(DeviceEvent());
    placement_.AddResult(outcome, rows, routing);
  }
  absl::Status CheckUnchanged() const override { return placement_.CheckUnchanged(); }
  absl::Span<std::byte> BeginPrompt() override { return placement_.BeginPrompt(); }
  void EndPrompt() override { placement_.EndPrompt(); }
  void FirstTokenOut() override { placement_.FirstTokenOut(); }

 private:
  // Leases a stage for each of the experts while there are any, at least one; returns how many.
  absl::StatusOr<size_t> StageSome(int layer, absl::Span<const int> experts);

  ExpertPlacement& placement_;
  // Of one ForEachPart; kept for their memory.
  std::vector<Location> in_place_;
  std::vector<int> to_stage_;
  std::vector<Location> staged_;
  std::vector<StagePool::Stage> stages_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_PLACEMENT_PLACED_EXPERTS_H_
