// Collects the routing of a step and hands it on: to a trace, into a profile's counts, or both.
//
//   RoutingRecorder recorder(geometry, {.trace = &trace});
//   engine.set_observer(&recorder);
//   ... engine.Step(tokens, want) ...
//   recorder.EndStep(RoutedStep::Kind::kPrompt);
//
// Steps are numbered from 0 by the calls of EndStep. Used by the engine's thread.
#ifndef STRATA_GENERATE_PLACEMENT_ROUTING_RECORDER_H_
#define STRATA_GENERATE_PLACEMENT_ROUTING_RECORDER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/generate/engine/step_observer.h"
#include "strata/generate/kernels/router.h"

namespace strata {

class RoutingRecorder : public StepObserver {
 public:
  // Either may be null; both outlive the recorder.
  struct Sinks {
    RoutingTraceWriter* trace = nullptr;
    ExpertProfile* profile = nullptr;
  };

  // The engine runs a model of this geometry.
  RoutingRecorder(const ExpertGeometry& geometry, const Sinks& sinks)
      : geometry_(geometry), sinks_(sinks) {}

  void OnRouting(int layer, int64_t position, absl::Span<const ExpertChoice> chosen) override;
  void OnLayerOutput(int /*layer*/, int64_t /*position*/, absl::Span<const float> /*x*/) override {}

  // After each step of the engine that succeeded: hands the step on. The first `num_accepted` of
  // its tokens stay in the text.
  void EndStep(RoutedStep::Kind kind, int num_accepted);
  // All of them do.
  void EndStep(RoutedStep::Kind kind);
  // After one that failed.
  void DropStep() { step_.experts.clear(); }

  // The number of the next step.
  int64_t num_steps() const { return step_.number; }

 private:
  const ExpertGeometry geometry_;
  const Sinks sinks_;
  RoutedStep step_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_PLACEMENT_ROUTING_RECORDER_H_
