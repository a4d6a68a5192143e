// Which bytes of the experts a step of one token reads.
#ifndef STRATA_GENERATE_BENCHMARK_EXPERT_READS_H_
#define STRATA_GENERATE_BENCHMARK_EXPERT_READS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/engine/step_observer.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/model/dense_reads.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

// Listens to an engine: the experts that its steps, of one token each, read.
class ExpertReads : public StepObserver {
 public:
  explicit ExpertReads(const ModelGraph& graph) : graph_(graph) {}

  void OnRouting(int layer, int64_t position, absl::Span<const ExpertChoice> chosen) override;
  void OnLayerOutput(int layer, int64_t position, absl::Span<const float> x) override;

  // A step's matrices, step by step.
  const std::vector<std::vector<WeightBytes>>& steps() const { return steps_; }

 private:
  const ModelGraph& graph_;
  int64_t last_position_ = -1;
  std::vector<std::vector<WeightBytes>> steps_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_BENCHMARK_EXPERT_READS_H_
