#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/core/cuda_status.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/streaming_read.h"

namespace strata {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocksPerMultiprocessor = 2;
constexpr int kInFlight = 8;  // Loads of a thread.

__device__ __forceinline__ uint4 Load(const uint4* words) {
  uint4 value;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(words));
  return value;
}

__global__ __launch_bounds__(kThreads,
                             kBlocksPerMultiprocessor) void StreamingRead(const uint4* data,
                                                                          int64_t count,
                                                                          uint32_t* sink) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  uint32_t folded = 0;
  bool has_waited = false;
  for (int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x; first < count || !has_waited;
       first += stride * kInFlight) {
    uint4 values[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const int64_t at = first + i * stride;
      values[i] = at < count ? Load(data + at) : make_uint4(0, 0, 0, 0);
    }
    if (!has_waited) {
      WaitForPredecessor();
      ReleaseSuccessor();
      has_waited = true;
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      folded ^= values[i].x ^ values[i].y ^ values[i].z ^ values[i].w;
    }
  }
  if (folded == 0x12345679u) *sink = folded;
}

}  // namespace

absl::Status LaunchStreamingRead(const std::byte* data, int64_t bytes, uint32_t* sink,
                                 const KernelStream& stream) {
  int device = 0, multiprocessors = 0;
  RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&device), "cudaGetDevice"));
  RETURN_IF_ERROR(
      CudaStatus(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
                 "cudaDeviceGetAttribute"));
  return LaunchKernel(
      "a streaming read", StreamingRead,
      {.grid = dim3(multiprocessors * kBlocksPerMultiprocessor), .block = dim3(kThreads)}, stream,
      reinterpret_cast<const uint4*>(data), bytes / 16, sink);
}

}  // namespace strata
