// What a product kernel for steps of one row is given: one struct, passed by value, made by
// one_row_launch. Plain addresses of device memory.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_PARAMETERS_H_
#define STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_PARAMETERS_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

inline constexpr int kMaxOneRowThreads = 256;  // Of a block.

// A vector in shared memory has its int8 values by groups of 256, some bytes apart, so that groups
// side by side lie in different banks.
inline constexpr int kGroupVectorBytes = 256 + 16;

// A block's work: tile_rows neighbouring rows of one matrix (kDense), of gate and up of an expert
// (kGated), or of down of each chosen expert (kSum). The rows of one matrix are a segment: its
// bytes as they follow each other in the file.
struct OneRowShape {
  int columns = 0;
  int groups = 0;
  int row_bytes = 0;
  int log_tile_rows = 0;
  int segments = 1;
  int segment_stride = 0;  // In shared memory, from its beginning on.
  int vector_stride = 0;   // There: q by groups, then the scales, then the sums.
  int scales_offset = 0;
  int sums_offset = 0;
  int partials_stride = 0;  // Floats of a row: its groups, and one more if that is even.
  bool is_aligned = false;  // Rows are multiples of 16 bytes, and so are groups.
  // Places in shared memory.
  int vectors = 0;   // [1 or segments][vector_stride]
  int grid = 0;      // The type's grid.
  int partials = 0;  // float [segments][tile rows][partials_stride]
  int outputs = 0;   // kGated, kSum: float [segments][tile rows]
  int begins = 0;    // int [segments]: where in its first 16 bytes a segment begins.
  int choices = 0;   // kSum: int [segments], the experts,
  int weights = 0;   // and float [segments], what each counts.
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
  int fault_row = 0;
  bool early_weights = true;
  bool early_choice = false;  // kSum: the routing and the table are read before the wait.

  DeviceRouting routing;
  const DeviceExpert* experts = nullptr;  // Null: kGated has the matrices of `gated`.
  int tiles = 0;                          // kGated: of an expert.
  DenseTarget outputs[4];                 // kDense. Behind the last, first_tile is beyond the grid.
  GatedTarget gated;
  SumTarget sum;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_PARAMETERS_H_
