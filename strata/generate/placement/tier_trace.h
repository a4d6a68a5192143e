// Writes a run's routing trace: what each step chose, and what the tier decided and showed.
//
// Used by the engine's thread.
#ifndef STRATA_GENERATE_PLACEMENT_TIER_TRACE_H_
#define STRATA_GENERATE_PLACEMENT_TIER_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/tier_observer.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/placement/routing_recorder.h"

namespace strata {

class TierTrace : public TierObserver {
 public:
  // The file is created now; its header is written by Start.
  static absl::StatusOr<std::unique_ptr<TierTrace>> Create(const std::string& path,
                                                           const TraceHeader& header);

  // After each step that succeeded; see RoutingRecorder.
  void AddStep(int64_t first_position, const StepRouting& routing, RoutedStep::Kind kind) {
    recorder_.AddStep(first_position, routing, kind);
  }
  absl::Status Finish();

  void OnRates(int64_t step, const SwapRates& rates) override;
  void OnSwapDecided(int64_t step, const SwapPolicy::Swap& swap) override;
  void OnSwapVisible(int64_t step, const SwapPolicy::Swap& swap, const SwapRates& rates,
                     int slot) override;
  void OnLeft(int64_t step, int expert, int slot, LeftFor why) override;
  void OnCameBack(int64_t step, int expert, int slot, CameBy how) override;
  void OnOffered(int64_t step, int num_slots) override;
  void OnLanded(int64_t step, int expert, int slot) override;

 private:
  using Cause = TraceResidency::Cause;

  TierTrace(const TraceHeader& header, std::unique_ptr<RoutingTraceWriter> writer);
  // Writes what is known of the landings of a step when the next one begins.
  void EndLandings();
  void AddResidency(int64_t step, int expert, int slot, bool resident, Cause cause);

  const std::unique_ptr<RoutingTraceWriter> writer_;
  RoutingRecorder recorder_;
  TraceLandings
      landings_;  // Of the step that was offered slots last; none offered: nothing to write.
};

}  // namespace strata

#endif  // STRATA_GENERATE_PLACEMENT_TIER_TRACE_H_
