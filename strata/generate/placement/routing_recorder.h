// Hands the routing of each step on: to a trace, into a profile's counts, or both.
//
//   RoutingRecorder recorder(geometry, {.trace = &trace});
//   ASSIGN_OR_RETURN(const StepResult* result, engine.Run({.rows = rows}));
//   recorder.AddStep(rows.front().position, result->routing, RoutedStep::Kind::kPrompt);
//
// Steps are numbered from 0. Used by one thread.
#ifndef STRATA_GENERATE_PLACEMENT_ROUTING_RECORDER_H_
#define STRATA_GENERATE_PLACEMENT_ROUTING_RECORDER_H_

#include <cstdint>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/generate/engine/step.h"

namespace strata {

class RoutingRecorder {
 public:
  // Either may be null; both outlive the recorder.
  struct Sinks {
    RoutingTraceWriter* trace = nullptr;
    ExpertProfile* profile = nullptr;
  };

  // The engine runs a model of this geometry.
  RoutingRecorder(const ExpertGeometry& geometry, const Sinks& sinks)
      : geometry_(geometry), sinks_(sinks) {}

  // After each step that succeeded, whose rows are tokens of one text from `first_position` on. The
  // first `num_accepted` of them stay in the text.
  void AddStep(int64_t first_position, const StepRouting& routing, RoutedStep::Kind kind,
               int num_accepted);
  // All of them do.
  void AddStep(int64_t first_position, const StepRouting& routing, RoutedStep::Kind kind) {
    AddStep(first_position, routing, kind, routing.num_rows);
  }

  // The number of the next step.
  int64_t num_steps() const { return step_.number; }

 private:
  const ExpertGeometry geometry_;
  const Sinks sinks_;
  RoutedStep step_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_PLACEMENT_ROUTING_RECORDER_H_
