// A CUDA card behind the Device interface, over the statically linked runtime.
//
// The header and Create exist in every build; without a toolkit at build time, or without a driver
// or card at run time, Create is a kUnavailable error that says which.
#ifndef STRATA_CORE_CUDA_DEVICE_H_
#define STRATA_CORE_CUDA_DEVICE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "strata/core/device.h"

namespace strata {

struct CudaDeviceOptions {
  int ordinal = 0;  // As the driver counts them.
  // Bytes of its memory that may be used; 0: all. It then looks like a smaller card.
  int64_t memory_limit = 0;
};

// A card. Its stream handles are cudaStream_t, its event handles cudaEvent_t.
absl::StatusOr<std::unique_ptr<Device>> CreateCudaDevice(const CudaDeviceOptions& options = {});

}  // namespace strata

#endif  // STRATA_CORE_CUDA_DEVICE_H_
