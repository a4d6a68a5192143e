// The entries of a step's routing by expert, in one kernel: each expert's weights can then be met
// by all of its rows at once.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_GROUP_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_GROUP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/launch.h"

namespace strata {

// Up to PromptGroups::tile_entries entries of one expert.
struct PromptTile {
  int32_t expert = 0;
  int32_t begin = 0;  // In PromptGroups::entries.
  int32_t count = 0;
  int32_t padding = 0;
};

// In device memory.
struct PromptGroups {
  int tile_entries = 64;  // 64 or 128.
  // [rows * num_chosen]: numbers of entries, ascending by expert, then by number.
  int32_t* entries = nullptr;
  PromptTile* tiles = nullptr;   // MaxPromptTiles(); ascending like the entries.
  int32_t* num_tiles = nullptr;  // One word.
};

constexpr int64_t MaxPromptTiles(int64_t num_entries, int num_experts, int tile_entries) {
  const int64_t most = num_entries / tile_entries + num_experts;
  return most < num_entries ? most : num_entries;
}

// The faster tile as measured (docs/benchmarks): a wide one meets each weight less often, and more of
// it is empty where experts have few rows. No choice changes a bit of a result.
constexpr int PromptTileEntries(int64_t num_entries, int num_experts) {
  return num_entries / num_experts >= 256 ? 128 : 64;
}

absl::Status GroupPromptRows(int rows, const DeviceRouting& routing, const PromptGroups& groups,
                             const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_GROUP_H_
