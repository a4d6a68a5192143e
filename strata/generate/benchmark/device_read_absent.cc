#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/device.h"
#include "strata/generate/benchmark/device_read.h"

namespace strata {

absl::StatusOr<std::unique_ptr<DeviceRead>> DeviceRead::Create(Device& /*device*/,
                                                               int64_t /*bytes*/) {
  return absl::UnavailableError("this program was built without a CUDA toolkit");
}

absl::Status DeviceRead::Run(int64_t /*bytes*/, int64_t /*count*/) {
  return absl::UnavailableError("this program was built without a CUDA toolkit");
}

}  // namespace strata
