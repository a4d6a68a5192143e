// Reading memory of the host that no kernel writes, by words of 16 bytes, each once.
#ifndef STRATA_GENERATE_KERNELS_CUDA_HOST_WORDS_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_HOST_WORDS_CUH_

namespace strata {

__device__ __forceinline__ uint4 LoadHostWord(const uint4* word) {
  uint4 value;
  asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(word));
  return value;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_HOST_WORDS_CUH_
