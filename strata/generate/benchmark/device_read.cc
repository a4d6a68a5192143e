#include "strata/generate/benchmark/device_read.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda_runtime_api.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_loan.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/streaming_read.h"

namespace strata {
namespace {

constexpr int64_t kSinkBytes = 256;
// Of either half: several times what a card's cache holds.
constexpr int64_t kLeastBytes = int64_t{128} << 20;

int64_t Aligned(int64_t bytes) { return (bytes + kSinkBytes - 1) / kSinkBytes * kSinkBytes; }

}  // namespace

DeviceRead::DeviceRead(Device& device, DeviceMemory memory, DeviceStream stream)
    : device_(device), memory_(std::move(memory)), stream_(std::move(stream)) {}

absl::StatusOr<std::unique_ptr<DeviceRead>> DeviceRead::Create(Device& device, int64_t bytes) {
  int64_t half = Aligned(bytes);
  absl::StatusOr<DeviceMemory> memory = device.Allocate(kSinkBytes + 2 * half);
  while (absl::IsResourceExhausted(memory.status()) && half / 2 >= kLeastBytes) {
    device.ClearError();
    half = Aligned(half / 2);
    memory = device.Allocate(kSinkBytes + 2 * half);
  }
  RETURN_IF_ERROR(memory.status());
  ASSIGN_OR_RETURN(DeviceStream stream, device.CreateStream());
  return absl::WrapUnique(new DeviceRead(device, *std::move(memory), std::move(stream)));
}

absl::Status DeviceRead::Run(int64_t bytes, int64_t count) {
  const int64_t half = (memory_.size() - kSinkBytes) / 2;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t left = Aligned(bytes); left > 0; left -= half) {
      RETURN_IF_ERROR(LaunchStreamingRead(memory_.data() + kSinkBytes + offset_,
                                          std::min(left, half),
                                          reinterpret_cast<uint32_t*>(memory_.data()),
                                          {.stream = static_cast<cudaStream_t>(stream_.handle())}));
      offset_ = offset_ == 0 ? half : 0;
    }
  }
  ASSIGN_OR_RETURN(const DeviceEvent read, device_.Record(stream_));
  return device_.Wait(read);
}

}  // namespace strata
