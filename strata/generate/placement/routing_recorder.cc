#include "strata/generate/placement/routing_recorder.h"

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/generate/kernels/router.h"

namespace strata {

void RoutingRecorder::OnRouting(int layer, int64_t position,
                                absl::Span<const ExpertChoice> chosen) {
  CHECK_EQ(chosen.size(), static_cast<size_t>(geometry_.num_used()));
  if (step_.experts.empty()) {
    CHECK_EQ(layer, geometry_.layers().front().block);
    step_.first_position = position;
    step_.num_tokens = 0;
  }
  // Every layer sees the tokens of the first.
  if (layer == geometry_.layers().front().block) ++step_.num_tokens;
  for (const ExpertChoice& choice : chosen) {
    step_.experts.push_back(static_cast<uint16_t>(choice.expert));
  }
}

void RoutingRecorder::EndStep(RoutedStep::Kind kind, int num_accepted) {
  CHECK(!step_.experts.empty()) << "no step was seen";
  CHECK_EQ(step_.experts.size(), geometry_.layers().size() * step_.num_tokens *
                                     static_cast<size_t>(geometry_.num_used()));
  CHECK_LE(num_accepted, step_.num_tokens);
  step_.kind = kind;
  step_.num_accepted = num_accepted;
  if (sinks_.trace != nullptr) sinks_.trace->AddStep(step_);
  if (sinks_.profile != nullptr) sinks_.profile->Count(step_);
  ++step_.number;
  step_.experts.clear();
}

void RoutingRecorder::EndStep(RoutedStep::Kind kind) { EndStep(kind, step_.num_tokens); }

}  // namespace strata
