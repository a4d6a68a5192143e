#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/device_block_tables.h"
#include "strata/generate/kernels/cuda/find_kernel.cuh"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

template <>
__device__ const uint32_t* GridOf<BlockType::kIQ2_XXS>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq2xxs);
}
template <>
__device__ const uint32_t* GridOf<BlockType::kIQ2_XS>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq2xs);
}
template <>
__device__ const uint32_t* GridOf<BlockType::kIQ2_S>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq2s);
}
template <>
__device__ const uint32_t* GridOf<BlockType::kIQ3_XXS>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq3xxs);
}
template <>
__device__ const uint32_t* GridOf<BlockType::kIQ3_S>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq3s);
}
template <>
__device__ const uint32_t* GridOf<BlockType::kIQ1_S>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq1s);
}
template <>
__device__ const uint32_t* GridOf<BlockType::kIQ1_M>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq1s);
}

ProductKernelPointer FindKernelOfGrids(BlockType type, int vectors) {
  return FindKernelAmong<BlockType::kIQ2_XXS, BlockType::kIQ2_XS, BlockType::kIQ2_S,
                         BlockType::kIQ3_XXS, BlockType::kIQ3_S, BlockType::kIQ1_S,
                         BlockType::kIQ1_M>(type, vectors);
}

OneRowKernelPointer FindOneRowKernelOfGrids(BlockType type, ProductMode mode, bool mailed) {
  return FindOneRowKernelAmong<BlockType::kIQ2_XXS, BlockType::kIQ2_XS, BlockType::kIQ2_S,
                               BlockType::kIQ3_XXS, BlockType::kIQ3_S, BlockType::kIQ1_S,
                               BlockType::kIQ1_M>(type, mode, mailed);
}

}  // namespace strata
