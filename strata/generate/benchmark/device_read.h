// Reads as many bytes of a GPU's memory as a step would, with one kernel where there is memory for
// that. The header exists in every
// build; without a CUDA toolkit Create is an error.
#ifndef STRATA_GENERATE_BENCHMARK_DEVICE_READ_H_
#define STRATA_GENERATE_BENCHMARK_DEVICE_READ_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/device.h"
#include "strata/core/device_loan.h"

namespace strata {

class DeviceRead {
 public:
  // Takes memory of so many bytes, and as many again that reads go on to, so that no cache helps;
  // or less, of which a read then takes several turns. The device is a CUDA card's and outlives it.
  static absl::StatusOr<std::unique_ptr<DeviceRead>> Create(Device& device, int64_t bytes);

  // Returns when `count` reads of `bytes` have ended.
  absl::Status Run(int64_t bytes, int64_t count);

 private:
  DeviceRead(Device& device, DeviceMemory memory, DeviceStream stream);

  Device& device_;
  const DeviceMemory memory_;
  const DeviceStream stream_;
  int64_t offset_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_BENCHMARK_DEVICE_READ_H_
