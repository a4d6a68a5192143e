#include <cuda_runtime.h>

#include <cstdint>

#include "absl/status/status.h"
#include "strata/core/cuda_status.h"
#include "strata/core/device.h"
#include "strata/tools/stage_experiments/host_read_kernel.h"

namespace strata::stagebench {
namespace {

constexpr int kThreads = 256;
constexpr int kLoadsInFlight = 8;

__device__ uint4 LoadPastL1(const uint4* address) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address));
  return value;
}

__device__ uint32_t Fold(uint4 value) { return value.x ^ value.y ^ value.z ^ value.w; }

// blockIdx.y is the slice; the blocks along x share it in pieces of kThreads * kLoadsInFlight
// words.
__global__ void __launch_bounds__(kThreads)
    HostReadKernel(const ReadSlice* slices, uint32_t* sums) {
  const ReadSlice slice = slices[blockIdx.y];
  const auto* const words = reinterpret_cast<const uint4*>(slice.data);
  const int64_t num_words = slice.bytes / static_cast<int64_t>(sizeof(uint4));
  const int64_t piece = int64_t{kThreads} * kLoadsInFlight;
  uint32_t sum = 0;
  for (int64_t start = blockIdx.x * piece; start < num_words; start += gridDim.x * piece) {
    uint4 values[kLoadsInFlight];
#pragma unroll
    for (int i = 0; i < kLoadsInFlight; ++i) {
      const int64_t at = start + i * kThreads + threadIdx.x;
      values[i] = at < num_words ? LoadPastL1(words + at) : uint4{0, 0, 0, 0};
    }
#pragma unroll
    for (int i = 0; i < kLoadsInFlight; ++i) sum ^= Fold(values[i]);
  }
  sum = __reduce_xor_sync(0xffffffffu, sum);
  if (threadIdx.x % 32 == 0) atomicXor(sums + blockIdx.y, sum);
}

}  // namespace

bool HasHostReadKernel() { return true; }

absl::Status LaunchHostRead(const ReadSlice* slices, int num_slices, int blocks_per_slice,
                            uint32_t* sums, const DeviceStream& stream) {
  HostReadKernel<<<dim3(blocks_per_slice, num_slices), kThreads, 0,
                   static_cast<cudaStream_t>(stream.handle())>>>(slices, sums);
  return CudaStatus(cudaGetLastError(), "HostReadKernel");
}

}  // namespace strata::stagebench
