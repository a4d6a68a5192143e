// The routed experts of a layer as kernels see them: which a row goes to, where each lies, and what
// all of one role have in common.
#ifndef STRATA_GENERATE_KERNELS_CUDA_DEVICE_EXPERTS_H_
#define STRATA_GENERATE_KERNELS_CUDA_DEVICE_EXPERTS_H_

#include <cstddef>
#include <cstdint>

#include "strata/core/block_type.h"

namespace strata {

// Where the parts of an expert's blob begin: in a slot, or in pinned host memory. Any address will do, one
// that is 16-byte aligned is the fastest.
//
// An entry of the image of the expert table (cache/tier/expert_table.h): 32 bytes, so that none
// straddles a sector.
struct DeviceExpert {
  const std::byte* parts[3] = {};  // Of its blob, in the order of the file's slices.
  uint64_t unused = 0;
};
static_assert(sizeof(DeviceExpert) == 32);

// The choices of a step, best first: entry (row, rank) is number row * num_chosen + rank. Indices
// are always below num_experts, also where a router's scores were not finite. The experts of a row
// differ.
struct DeviceRouting {
  int num_experts = 0;
  int num_chosen = 0;
  const int32_t* experts = nullptr;  // [rows][num_chosen]
  const float* weights = nullptr;    // [rows][num_chosen]
};

// One role of all experts of a layer: y = scale * (weights x) + bias, as ExpertLinears.
struct DeviceExpertMatrix {
  BlockType type = BlockType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  int part = 0;                   // Of an expert's blob,
  int64_t offset = 0;             // and where in it the matrix begins.
  const float* scales = nullptr;  // [num_experts]; null: all 1.
  const float* biases = nullptr;  // [num_experts][rows]; null: none.
};

inline constexpr int kMaxChosenExperts = 32;

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_DEVICE_EXPERTS_H_
