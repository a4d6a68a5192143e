#include "strata/generate/benchmark/device_read.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda_runtime_api.h"
#include "glog/logging.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_loan.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/streaming_read.h"

namespace strata {
namespace {

constexpr int64_t kSinkBytes = 256;

int64_t Aligned(int64_t bytes) { return (bytes + kSinkBytes - 1) / kSinkBytes * kSinkBytes; }

}  // namespace

DeviceRead::DeviceRead(Device& device, DeviceMemory memory, DeviceStream stream)
    : device_(device), memory_(std::move(memory)), stream_(std::move(stream)) {}

absl::StatusOr<std::unique_ptr<DeviceRead>> DeviceRead::Create(Device& device, int64_t bytes) {
  ASSIGN_OR_RETURN(DeviceMemory memory, device.Allocate(kSinkBytes + 2 * Aligned(bytes)));
  ASSIGN_OR_RETURN(DeviceStream stream, device.CreateStream());
  return absl::WrapUnique(new DeviceRead(device, std::move(memory), std::move(stream)));
}

absl::Status DeviceRead::Run(int64_t bytes, int64_t count) {
  const int64_t size = Aligned(bytes);
  CHECK_LE(kSinkBytes + 2 * size, memory_.size());
  for (int64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(LaunchStreamingRead(memory_.data() + kSinkBytes + offset_, size,
                                        reinterpret_cast<uint32_t*>(memory_.data()),
                                        {.stream = static_cast<cudaStream_t>(stream_.handle())}));
    offset_ = offset_ == 0 ? size : 0;
  }
  ASSIGN_OR_RETURN(const DeviceEvent read, device_.Record(stream_));
  return device_.Wait(read);
}

}  // namespace strata
