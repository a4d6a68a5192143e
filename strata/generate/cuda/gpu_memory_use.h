// What a GPU's memory is used for once an engine is ready, in one line that adds up.
#ifndef STRATA_GENERATE_CUDA_GPU_MEMORY_USE_H_
#define STRATA_GENERATE_CUDA_GPU_MEMORY_USE_H_

#include <cstdint>
#include <string>

namespace strata {

// In bytes. What is left of the total is others': programs, the driver, what is rounded up.
struct GpuMemoryUse {
  int64_t weights = 0;  // That all tokens meet.
  int64_t kv = 0;
  int64_t workspace = 0;
  int64_t slots = 0;
  int64_t free = 0;
  int64_t total = 0;

  // "GPU memory in MiB: 1,024 weights + 64 keys and values + ... = 8,192", each of them rounded so
  // that the sum is right.
  std::string Describe() const;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_GPU_MEMORY_USE_H_
