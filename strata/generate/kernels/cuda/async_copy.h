// Copies from global to shared memory that a thread does not wait for (cp.async). Device code.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ASYNC_COPY_H_
#define STRATA_GENERATE_KERNELS_CUDA_ASYNC_COPY_H_

#include <cstdint>

namespace strata {

#ifdef __CUDACC__

// 16 bytes, both addresses aligned. Past L1.
__device__ __forceinline__ void CopySixteenAsync(void* shared, const void* global) {
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}

// Returns when the copies of this thread have landed; a barrier shows them to others.
__device__ __forceinline__ void WaitForAsyncCopies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#endif  // __CUDACC__

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ASYNC_COPY_H_
