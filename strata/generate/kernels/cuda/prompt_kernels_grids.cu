#include <cstdint>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/device_block_tables.h"
#include "strata/generate/kernels/cuda/prompt_int8_kernel.cuh"
#include "strata/generate/kernels/cuda/prompt_kernels.h"

namespace strata {

template <>
__device__ const uint32_t* PromptGrid<BlockType::kIQ2_XXS>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq2xxs);
}
template <>
__device__ const uint32_t* PromptGrid<BlockType::kIQ2_XS>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq2xs);
}
template <>
__device__ const uint32_t* PromptGrid<BlockType::kIQ2_S>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq2s);
}
template <>
__device__ const uint32_t* PromptGrid<BlockType::kIQ3_XXS>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq3xxs);
}
template <>
__device__ const uint32_t* PromptGrid<BlockType::kIQ3_S>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq3s);
}
template <>
__device__ const uint32_t* PromptGrid<BlockType::kIQ1_S>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq1s);
}
template <>
__device__ const uint32_t* PromptGrid<BlockType::kIQ1_M>() {
  return reinterpret_cast<const uint32_t*>(device_tables::kGridIq1s);
}

PromptKernel FindPromptKernelOfGrids(BlockType type, bool is_wide) {
  return FindPromptKernelAmong<BlockType::kIQ1_S, BlockType::kIQ1_M, BlockType::kIQ2_XXS,
                               BlockType::kIQ2_XS, BlockType::kIQ2_S, BlockType::kIQ3_XXS,
                               BlockType::kIQ3_S>(type, is_wide);
}

}  // namespace strata
