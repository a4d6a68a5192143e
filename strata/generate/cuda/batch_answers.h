// What the steps of a batch leave in memory that the host reads, gathered into the batch's result.
//
// Used by the engine's thread; the graph outlives it.
#ifndef STRATA_GENERATE_CUDA_BATCH_ANSWERS_H_
#define STRATA_GENERATE_CUDA_BATCH_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/tier/landing.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

inline DeviceSequence& SequenceOf(const StepRow& row) {
  return *static_cast<DeviceSequence*>(row.sequence);
}

inline bool WantsOutput(const StepRow& row) {
  return row.wants_logits || row.draw.sampler != nullptr;
}

// The device draws as the host would, except by chance and with a penalty.
inline bool DrawsOnDevice(const StepRow& row) {
  return row.draw.sampler != nullptr && row.draw.sampler->takes_most_likely();
}

inline bool NeedsLogits(const StepRow& row) {
  return row.wants_logits || (row.draw.sampler != nullptr && !DrawsOnDevice(row));
}

class BatchAnswers {
 public:
  explicit BatchAnswers(const ModelGraph& graph);

  // A batch begins.
  void Clear();
  // A step of these rows of the batch has ended well: `outputs` holds what it wrote, `choices` the
  // experts that it chose.
  absl::Status Take(absl::Span<const StepRow> rows, bool has_hidden, const StepOutputs& outputs,
                    const std::byte* choices);
  // What has landed in its at most so many offers.
  void TakeLandings(const std::byte* landed, int max_offers);
  // After the last one: the routing of all rows, or of none when the batch has failed.
  const StepRouting& EndBatch(int num_rows, bool ok);

  // Views are of its memory.
  const StepResult* Collect();
  const std::vector<Landing>& landed() const { return landed_; }

 private:
  absl::Status Draw(const StepRow& row, int wanted_index, const StepOutputs& outputs);
  void TakeChoices(int num_rows, const std::byte* choices);

  const ModelGraph& graph_;
  StepResult result_;
  std::vector<std::vector<float>> logits_, hidden_;  // Kept for their memory.
  size_t num_logits_ = 0, num_hidden_ = 0;
  std::vector<std::vector<uint16_t>> choices_;  // By layer that has experts.
  std::vector<Landing> landed_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_BATCH_ANSWERS_H_
