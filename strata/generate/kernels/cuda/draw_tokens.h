// The last kernel of a step: logits are divided by their scale and looked through, the most likely
// token of each row that wants logits is drawn, and what the host wants to know of the step is
// written to pinned memory.
//
// The token is that of sampling/sampler.h at temperature 0: of the greatest logits the lowest id.
// Other samplers choose on the host.
#ifndef STRATA_GENERATE_KERNELS_CUDA_DRAW_TOKENS_H_
#define STRATA_GENERATE_KERNELS_CUDA_DRAW_TOKENS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

// In pinned memory.
struct DeviceStepResult {
  uint32_t fault = kNoFault;
  int32_t num_drawn = 0;
  int32_t drawn[kMaxRows] = {};  // By row that wanted logits.
};

// Bytes of device memory that go to pinned memory with the result, 16-byte aligned both: the
// choices of all layers, what has landed.
struct ResultCopy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  int64_t bytes = 0;  // A multiple of 16.
};

struct DrawTask {
  // Rows that `logits` has; more are not asked for in any step. 0: nothing is drawn.
  int max_wanted = 0;
  int64_t vocabulary = 0;
  float logit_scale = 1.0f;      // Divides the logits, in place.
  float* logits = nullptr;       // [max_wanted][vocabulary]
  float* host_logits = nullptr;  // As many in pinned memory, where they go too; null: nowhere.
  const DeviceStep* step = nullptr;
  uint64_t* best = nullptr;    // kMaxRows words, zero before the first step and after each.
  uint32_t* ticket = nullptr;  // One word, likewise.
  int32_t* drawn = nullptr;    // By sequence: gets what its row draws.
  DeviceStepResult* result = nullptr;
  static constexpr int kMaxCopies = 3;
  ResultCopy copies[kMaxCopies];
  // Logits that are not finite; they are not drawn. The row is that of the step.
  FaultReport fault;
};

absl::Status DrawTokens(const DrawTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_DRAW_TOKENS_H_
