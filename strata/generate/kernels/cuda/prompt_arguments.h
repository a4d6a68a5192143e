// What the product kernels of prompts are given: one struct, passed by value. Plain addresses of
// device memory.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_ARGUMENTS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/prompt_group.h"
#include "strata/generate/kernels/cuda/prompt_product.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/gated_activation.h"

namespace strata {

// Rows of weights that a block computes: of one matrix, or half of gate and half of up.
inline constexpr int kPromptTileWeights = 128;

// One matrix, or one role of all experts.
struct PromptTarget {
  const std::byte* data = nullptr;  // Not with experts, whose matrices
  int part = 0;                     // lie in this part of a blob
  int64_t offset = 0;               // from here on.
  int rows = 0;
  int first_tile = 0;  // Of all targets' tiles of weights.
  float scale = 1.0f;
  const float* scales = nullptr;  // By expert; null: `scale`.
  const float* bias = nullptr;    // With experts, [num_experts][rows].
  float* y = nullptr;             // By entry or row.
  float divisor = 1.0f;
  const float* residual = nullptr;
  float residual_scale = 1.0f;
  FaultReport fault;
};

struct PromptArguments {
  bool is_gated = false;  // Targets 0 and 1 are gate and up; their activation goes to targets[0].y.
  GatedActivation activation = GatedActivation::kSilu;

  int columns = 0;
  int64_t row_bytes = 0;
  DeviceActivations x;

  int num_rows = 0;                   // Without tiles.
  const PromptTile* tiles = nullptr;  // Null: rows one after the other.
  int tile_entries = 0;               // At most, in each of `tiles`.
  const int32_t* num_tiles = nullptr;
  const int32_t* entries = nullptr;
  int entries_per_vector = 1;  // Entry e meets vector e / entries_per_vector of x.
  int entries_per_row = 1;     // For reports.
  const DeviceExpert* experts = nullptr;

  int num_targets = 0;
  PromptTarget targets[kMaxPromptMatrices];
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_ARGUMENTS_H_
