// The first kernel of a step: brings the step's block into device memory, applies its patches and
// fetches the embeddings of its tokens.
#ifndef STRATA_GENERATE_KERNELS_CUDA_BEGIN_STEP_H_
#define STRATA_GENERATE_KERNELS_CUDA_BEGIN_STEP_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/block_codes.h"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/step_block.h"

namespace strata {

// A row per token, in blocks of the file, where the device can read them: pinned host memory at any
// alignment, or its own.
struct DeviceEmbedding {
  BlockType type = BlockType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  const std::byte* data = nullptr;
  float scale = 1.0f;                   // Multiplies each value.
  const BlockTables* tables = nullptr;  // In device memory.
};

// A step of more than kMaxRows rows has a block for each kMaxRows of them, the last maybe for fewer,
// and its layout no rotations.
struct BeginStepTask {
  int num_rows = 0;  // As in the blocks.
  StepBlockLayout layout;
  const std::byte* block = nullptr;  // The first, at the address that the device uses.
  DeviceEmbedding embedding;

  // Device memory.
  const int32_t* drawn = nullptr;  // By sequence: what it drew last.
  DeviceStep* step = nullptr;      // One for each block.
  float* rotary = nullptr;         // layout.rotary_floats().
  std::byte** page_table = nullptr;
  std::byte* expert_table = nullptr;  // 16-byte aligned entries of 32 bytes; null: never patched.
  std::byte* landings = nullptr;      // layout.landings_bytes(), as they lie in the block.
  DeviceLandingCount* landed = nullptr;  // Becomes 0, where there are landings.
  uint32_t* fault_word = nullptr;        // Becomes kNoFault.
  float* x = nullptr;                    // [rows][columns]
};

// A token that is not in the vocabulary counts as 0. A value that is not finite is left for the
// first norm to find.
absl::Status BeginStep(const BeginStepTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_BEGIN_STEP_H_
