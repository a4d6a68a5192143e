// A kernel that reads slices of memory where they lie, over the link if they lie in the host's.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_HOST_READ_KERNEL_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_HOST_READ_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/core/device.h"

namespace strata::stagebench {

struct ReadSlice {
  const std::byte* data = nullptr;  // 16-byte aligned, readable by kernels.
  int64_t bytes = 0;                // A multiple of 16.
};

// True in builds with the CUDA toolkit.
bool HasHostReadKernel();

// Queues the kernel: `slices` (of num_slices, in memory that kernels can read) are read once, each
// by its own blocks of 256 threads, 16 bytes a load past L1, eight loads in flight a thread. XORs
// the 32-bit words of slice i into sums[i], which the caller has set to 0 in device memory.
// kUnimplemented without the toolkit.
absl::Status LaunchHostRead(const ReadSlice* slices, int num_slices, int blocks_per_slice,
                            uint32_t* sums, const DeviceStream& stream);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_HOST_READ_KERNEL_H_
