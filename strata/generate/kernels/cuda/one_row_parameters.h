// What a product kernel for steps of one row is given: one struct, passed by value, made by
// one_row_launch. Plain addresses of device memory.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_PARAMETERS_H_
#define STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_PARAMETERS_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

inline constexpr int kOneRowWarps = 8;   // Of a block, at most: kDense and kGated, of which
inline constexpr int kOneRowBlocks = 3;  // so many blocks fit on a multiprocessor;
inline constexpr int kMaxSumWarps = 16;  // kSum, which has one for each chosen expert up to this.

// A vector in shared memory has its int8 values by groups of 256, some bytes apart, so that groups
// side by side lie in different banks.
inline constexpr int kGroupVectorBytes = 256 + 16;

// A warp's work is a tile: tile_rows neighbouring rows of one matrix (kDense), of gate and of up of
// an expert (kGated), or of down of a chosen expert (kSum). The rows of one matrix are a segment:
// its bytes as they follow each other in the file.
struct OneRowShape {
  int columns = 0;
  int groups = 0;
  int row_bytes = 0;
  int tile_rows = 1;
  int segment_stride = 0;  // In shared memory, whose beginning the segments are.
  int vector_stride = 0;   // There: q by groups, then the scales, then the sums.
  int scales_offset = 0;
  int sums_offset = 0;
  bool is_aligned = false;  // Rows are multiples of 16 bytes, and so are groups.
  // Places in shared memory, by segment where there are several: kGated has two for each warp, kSum
  // one for each chosen expert.
  int vectors = 0;   // [1, kSum: segments][vector_stride]
  int grid = 0;      // The type's grid.
  int state = 0;     // Of a norm: float [columns]
  int partials = 0;  // float [segments][tile_rows][groups]
  int outputs = 0;   // kSum: float [segments][tile_rows]
  int ranks = 0;     // kSum: OneRowRank [segments]
};

// What a block of kSum knows of a chosen expert.
struct OneRowRank {
  uint64_t from;  // Where its tile begins.
  int32_t expert;
  float weight;
};

// One vector, as int8 in the form that the weights ask for, or as values that the kernel brings
// into that form. kSum: values of each entry.
struct OneRowVector {
  const int8_t* q = nullptr;
  const float* scales = nullptr;
  const int16_t* sums = nullptr;
  const float* values = nullptr;
};

struct OneRowParameters {
  OneRowShape shape;
  OneRowVector x;
  NormTask norm;  // With an x: what makes the vector.
  int fault_row = 0;
  bool early_weights = true;
  bool early_choice = false;  // kSum: the routing and the table are read before the wait.

  DeviceRouting routing;
  const DeviceExpert* experts = nullptr;  // Null: kGated has the matrices of `gated`.
  const float* mailed = nullptr;          // As ProductParameters'.
  int tiles = 0;                          // Of all outputs, of an expert, of down.
  DenseTarget outputs[4];                 // kDense. Behind the last, first_tile is beyond `tiles`.
  GatedTarget gated;
  SumTarget sum;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_PARAMETERS_H_
