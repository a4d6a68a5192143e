// How the threads of a kernel keep the 128 accumulators of numerics/accumulators.h, and how the
// last block of several is found.
#ifndef STRATA_GENERATE_KERNELS_CUDA_LANES_H_
#define STRATA_GENERATE_KERNELS_CUDA_LANES_H_

#include <cstdint>

#include "strata/generate/numerics/numerics.h"

namespace strata {

// Order of floats as unsigned integers. -0 and +0 differ: add +0 to make them one.
STRATA_NUMERIC uint32_t OrderedBits(float x) {
  const uint32_t bits = f32::Bits(x);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
STRATA_NUMERIC float FromOrderedBits(uint32_t ordered) {
  return f32::FromBits((ordered & 0x80000000u) != 0 ? ordered & 0x7fffffffu : ~ordered);
}

// 1 / sqrt(sum / n + epsilon)
STRATA_NUMERIC float InverseRms(float sum_of_squares, int n, float epsilon) {
  const float mean = f32::Div(sum_of_squares, f32::FromInt(n));
  return f32::Div(1.0f, f32::Sqrt(f32::Add(mean, epsilon)));
}

#ifdef __CUDACC__

inline constexpr uint32_t kAllLanes = 0xffffffffu;

// c = fma(a, b, c)
__device__ __forceinline__ void FmaFour(const float4& a, const float4& b, float4& c) {
  c.x = f32::Fma(a.x, b.x, c.x);
  c.y = f32::Fma(a.y, b.y, c.y);
  c.z = f32::Fma(a.z, b.z, c.z);
  c.w = f32::Fma(a.w, b.w, c.w);
}

__device__ __forceinline__ float FoldLanes(float x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) x = f32::Add(x, __shfl_xor_sync(kAllLanes, x, mask));
  return x;
}

// The sum of 128 accumulators, in every lane: lane i of a warp holds 4i .. 4i + 3.
__device__ __forceinline__ float FoldWarp(const float4& c) {
  const float4 folded = {FoldLanes(c.x), FoldLanes(c.y), FoldLanes(c.z), FoldLanes(c.w)};
  return f32::Add(f32::Add(folded.x, folded.z), f32::Add(folded.y, folded.w));
}

// The same, in every thread, where thread i of a block of 128 holds accumulator i. A barrier for
// the block; `shared` is not in use by it otherwise.
__device__ __forceinline__ float FoldBlock(float accumulator, float (&shared)[128]) {
  shared[threadIdx.x] = accumulator;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  const float lower = f32::Add(shared[lane], shared[lane + 64]);
  const float upper = f32::Add(shared[lane + 32], shared[lane + 96]);
  return FoldLanes(f32::Add(lower, upper));
}

// True in all threads of the last of `count` blocks to call this for a ticket; that one sees what
// the others stored before, by loads that pass L1. The ticket is zero again afterwards. A barrier
// for the block.
__device__ __forceinline__ bool IsLastBlock(uint32_t* ticket, uint32_t count) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(ticket, 1) == count - 1;
    if (is_last) *ticket = 0;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

// What another block stored; past L1.
__device__ __forceinline__ float LoadFromL2(const float* from) {
  float x;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(x) : "l"(from) : "memory");
  return x;
}
__device__ __forceinline__ float2 LoadTwoFromL2(const float* from) {
  float2 x;
  asm volatile("ld.global.cg.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "l"(from) : "memory");
  return x;
}
__device__ __forceinline__ float4 LoadFourFromL2(const float* from, bool is_there = true) {
  float4 x;
  asm volatile(
      "{\n"
      "  .reg .pred there;\n"
      "  setp.ne.u32 there, %5, 0;\n"
      "  mov.f32 %0, 0f00000000;\n"
      "  mov.f32 %1, 0f00000000;\n"
      "  mov.f32 %2, 0f00000000;\n"
      "  mov.f32 %3, 0f00000000;\n"
      "  @there ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&f"(x.x), "=&f"(x.y), "=&f"(x.z), "=&f"(x.w)
      : "l"(from), "r"(static_cast<uint32_t>(is_there))
      : "memory");
  return x;
}

// 16 bytes that are read once, or zeros; without a branch, so that many can be on their way.
__device__ __forceinline__ uint4 LoadOrZero(const void* from, bool is_there) {
  uint4 x;
  asm volatile(
      "{\n"
      "  .reg .pred there;\n"
      "  setp.ne.u32 there, %5, 0;\n"
      "  mov.u32 %0, 0;\n"
      "  mov.u32 %1, 0;\n"
      "  mov.u32 %2, 0;\n"
      "  mov.u32 %3, 0;\n"
      "  @there ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&r"(x.x), "=&r"(x.y), "=&r"(x.z), "=&r"(x.w)
      : "l"(from), "r"(static_cast<uint32_t>(is_there))
      : "memory");
  return x;
}

// Asks for a line of weights; nothing waits for it.
__device__ __forceinline__ void PrefetchToL2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_LANES_H_
