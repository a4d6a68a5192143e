#include "strata/generate/placement/routing_recorder.h"

#include <cstdint>

#include "glog/logging.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/generate/engine/step.h"

namespace strata {

void RoutingRecorder::AddStep(int64_t first_position, const StepRouting& routing,
                              RoutedStep::Kind kind, int num_accepted) {
  CHECK_EQ(routing.num_chosen, geometry_.num_used());
  CHECK_EQ(routing.num_layers(), static_cast<int>(geometry_.layers().size()));
  CHECK_LE(num_accepted, routing.num_rows);
  step_.first_position = first_position;
  step_.kind = kind;
  step_.num_tokens = routing.num_rows;
  step_.num_accepted = num_accepted;
  step_.experts = routing.experts;
  if (sinks_.trace != nullptr) sinks_.trace->AddStep(step_);
  if (sinks_.profile != nullptr) sinks_.profile->Count(step_);
  ++step_.number;
}

}  // namespace strata
