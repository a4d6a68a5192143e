// Parts of product_parameters.h from what callers give.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_INPUTS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_INPUTS_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

inline MatrixOutput MatrixOutputOf(const DeviceMatrix& matrix, const FaultReport& fault) {
  return {.data = reinterpret_cast<const uint8_t*>(matrix.data),
          .rows = static_cast<int>(matrix.rows),
          .biases = matrix.bias,
          .scale = matrix.scale,
          .fault = fault};
}

inline MatrixOutput MatrixOutputOf(const DeviceExpertMatrix& matrix, const FaultReport& fault) {
  return {.part = matrix.part,
          .offset = matrix.offset,
          .rows = static_cast<int>(matrix.rows),
          .scales = matrix.scales,
          .biases = matrix.biases,
          .fault = fault};
}

// The vectors from number `first` on.
inline DeviceInt8Rows Int8RowsFrom(const DeviceInt8Rows& rows, int64_t size, int64_t first,
                                   int block, int sum) {
  if (rows.q == nullptr) return rows;
  return {.q = rows.q + first * size,
          .scales = rows.scales + first * (size / block),
          .sums = rows.sums + first * (size / sum)};
}
inline DeviceActivations RowsFrom(const DeviceActivations& x, int64_t first) {
  return {.size = x.size,
          .values = x.values == nullptr ? nullptr : x.values + first * x.size,
          .a32 = Int8RowsFrom(x.a32, x.size, first, 32, 32),
          .a256 = Int8RowsFrom(x.a256, x.size, first, 256, 16)};
}

// The choices of the rows from number `first` on.
inline DeviceRouting RoutingFrom(const DeviceRouting& routing, int64_t first) {
  DeviceRouting rest = routing;
  rest.experts += first * routing.num_chosen;
  if (rest.weights != nullptr) rest.weights += first * routing.num_chosen;
  return rest;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_INPUTS_H_
