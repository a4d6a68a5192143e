// What the current device allows a kernel.
#ifndef STRATA_GENERATE_KERNELS_CUDA_KERNEL_LIMITS_H_
#define STRATA_GENERATE_KERNELS_CUDA_KERNEL_LIMITS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cuda_runtime.h"
#include "strata/core/cuda_status.h"
#include "strata/core/status_macros.h"

namespace strata {

inline constexpr size_t kSharedBytesWithoutAsking = 48 << 10;

// Lets `kernel` be launched with this much dynamic shared memory; an error if the device has less.
template <typename... Parameters>
absl::Status AllowSharedBytes(absl::string_view name, void (*kernel)(Parameters...),
                              size_t shared_bytes) {
  // Static shared memory counts too.
  if (shared_bytes <= kSharedBytesWithoutAsking / 2) return absl::OkStatus();
  return CudaStatus(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                         cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(shared_bytes)),
                    name, static_cast<int64_t>(shared_bytes));
}

inline absl::StatusOr<int> NumMultiprocessors() {
  int device = 0;
  RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&device), "cudaGetDevice"));
  int count = 0;
  RETURN_IF_ERROR(CudaStatus(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
                             "cudaDeviceGetAttribute"));
  return count;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_KERNEL_LIMITS_H_
