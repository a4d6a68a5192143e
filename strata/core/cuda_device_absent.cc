#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/cuda_device.h"

namespace strata {

absl::StatusOr<std::unique_ptr<Device>> CreateCudaDevice(const CudaDeviceOptions&) {
  return absl::UnavailableError("no CUDA device: this program was built without the CUDA toolkit");
}

}  // namespace strata
