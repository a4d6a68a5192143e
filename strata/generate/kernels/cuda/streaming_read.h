// A kernel that does nothing but read device memory: what a product of as many bytes is measured
// against.
#ifndef STRATA_GENERATE_KERNELS_CUDA_STREAMING_READ_H_
#define STRATA_GENERATE_KERNELS_CUDA_STREAMING_READ_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/launch.h"

namespace strata {

// Reads `bytes` bytes, a multiple of 16, from an address that is a multiple of 16, the first of
// them before the wait. `sink` is a word that is not written unless the bytes fold to one certain
// value.
absl::Status LaunchStreamingRead(const std::byte* data, int64_t bytes, uint32_t* sink,
                                 const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_STREAMING_READ_H_
