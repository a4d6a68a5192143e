// The vectors of a step in device memory, and the matrices that they meet. Plain structs of
// addresses, passed to kernels by value; whoever made the memory owns it.
//
// A step has 1 to kMaxRows rows. Row i of an array of `size` values begins at i * size, without
// padding. No result of a row depends on how many rows the step has or on what the others are.
#ifndef STRATA_GENERATE_KERNELS_CUDA_DEVICE_ROWS_H_
#define STRATA_GENERATE_KERNELS_CUDA_DEVICE_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "strata/core/block_type.h"

namespace strata {

inline constexpr int kMaxRows = 16;

// Vectors in one of the int8 forms of numerics: A32 or A256 (kernels/activation.h), bit for bit.
// Null where a form was not asked for.
struct DeviceInt8Rows {
  int8_t* q = nullptr;      // [rows][size]
  float* scales = nullptr;  // [rows][size / 32 or 256]
  int16_t* sums = nullptr;  // [rows][size / 32 or 16]
};

// Vectors in all the forms that some matrix asks for. A size that is not whole blocks of a form
// does not have it.
struct DeviceActivations {
  int64_t size = 0;  // Values of a row.
  float* values = nullptr;
  DeviceInt8Rows a32;
  DeviceInt8Rows a256;
};

// y = scale * (weights x) + bias, weights in the blocks of the file (kernels/weight_matrix.h).
// `data` is 16-byte aligned memory that the device can read: its own, or pinned host memory.
struct DeviceMatrix {
  BlockType type = BlockType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  const std::byte* data = nullptr;
  float scale = 1.0f;
  const float* bias = nullptr;  // Null: none.
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_DEVICE_ROWS_H_
