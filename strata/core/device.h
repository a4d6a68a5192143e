// The only door to a GPU: its memory, streams, events, copies, and the pinning of host memory.
//
// CudaDevice (cuda_device.h) is a real card; HostDevice (host_device.h) is ordinary memory with the
// same rules of time, for machines without one and for tests.
//
// Copies are asynchronous: a call returns before the bytes have moved, and the copy reads its
// source and writes its destination until an event recorded behind it has ended. Only a copy from
// (to) pageable memory has read (written) it when the call returns.
//
// Errors: a status names the call, the bytes and the driver's text. kResourceExhausted is too
// little memory or a refusal to pin, kUnavailable no usable device, kUnimplemented a capability
// that is not there; the rest is as bad as it looks. The error of a refused call may come back from
// a later, unrelated one until ClearError: whoever handles a refusal clears it at once. A copy that
// fails while it runs fails its stream, until Drain.
//
// Thread-safe. A device outlives all that it lends.
#ifndef STRATA_CORE_DEVICE_H_
#define STRATA_CORE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/device_event.h"
#include "strata/core/device_loan.h"

namespace strata {

struct DeviceProperties {
  std::string name;
  bool is_gpu = false;
  int compute_capability = 0;  // Of a CUDA card: 90 is 9.0.
  // RegisterReadOnly may work: a file mapped read-only can be pinned in place.
  bool can_register_read_only = false;
  // Kernels may read pinned memory at the address that the host uses.
  bool reads_host_memory = false;
  // Pinned bytes count against RLIMIT_MEMLOCK.
  bool pins_count_as_locked = false;
};

struct DeviceMemoryInfo {
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
};

// One copy of a batch, host to device.
struct HostToDeviceCopy {
  std::byte* destination = nullptr;
  const std::byte* source = nullptr;
  int64_t bytes = 0;
};

class Device {
 public:
  // Issuing into a stream with this many copies that have not run blocks the caller.
  static constexpr int kMaxQueuedCopies = 256;

  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual const DeviceProperties& properties() const = 0;
  virtual absl::StatusOr<DeviceMemoryInfo> GetMemoryInfo() = 0;

  // Sizes are positive.
  virtual absl::StatusOr<DeviceMemory> Allocate(int64_t bytes) = 0;
  virtual absl::StatusOr<PinnedMemory> AllocatePinned(int64_t bytes) = 0;
  // Pins memory in place; it starts at a page border and ends at one, or at the end of its mapping.
  virtual absl::StatusOr<HostRegistration> Register(absl::Span<std::byte> memory) = 0;
  // For a mapping that is shared and read-only, and for no other: the driver has been seen to hang.
  virtual absl::StatusOr<HostRegistration> RegisterReadOnly(absl::Span<const std::byte> memory) = 0;

  virtual absl::StatusOr<DeviceStream> CreateStream() = 0;

  virtual absl::Status CopyToDevice(std::byte* destination, absl::Span<const std::byte> source,
                                    const DeviceStream& stream) = 0;
  virtual absl::Status CopyToHost(absl::Span<std::byte> destination, const std::byte* source,
                                  const DeviceStream& stream) = 0;
  // All sources are pinned. The copies may run in any order among themselves, after what the stream
  // holds already. On an error some may have been queued.
  virtual absl::Status CopyBatchToDevice(absl::Span<const HostToDeviceCopy> copies,
                                         const DeviceStream& stream) = 0;

  // The event of all work that the stream holds now. On an error the stream is as it was.
  absl::StatusOr<DeviceEvent> Record(const DeviceStream& stream);
  // Later work of the stream waits for the event.
  virtual absl::Status StreamWait(const DeviceStream& stream, const DeviceEvent& event) = 0;
  // Whether the work before the event has ended, well or not: it touches memory no more. An error
  // tells nothing about the work: treat it as running.
  virtual absl::StatusOr<bool> HasEnded(const DeviceEvent& event) = 0;
  // Blocks until the work before the event has ended. On an error it failed, or is not known.
  virtual absl::Status Wait(const DeviceEvent& event) = 0;
  // Blocks until the work of the stream, or before the event, has ended, whatever errors come up;
  // then the stream is as good as new.
  virtual void Drain(const DeviceStream& stream) = 0;
  virtual void Drain(const DeviceEvent& event) = 0;

  virtual void ClearError() = 0;

 protected:
  Device() = default;

 private:
  friend class DeviceLoan;
  virtual void FreeMemory(void* handle) = 0;
  virtual void FreePinned(void* handle) = 0;
  virtual void Unregister(void* handle) = 0;
  virtual void DestroyStream(void* handle) = 0;
  virtual absl::StatusOr<void*> CreateEventHandle() = 0;
  virtual absl::Status RecordEvent(const DeviceEvent& event, const DeviceStream& stream) = 0;

  EventShelf events_;
};

}  // namespace strata

#endif  // STRATA_CORE_DEVICE_H_
