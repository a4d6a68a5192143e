#include "strata/core/cuda_device.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cuda_runtime_api.h"
#include "glog/logging.h"
#include "strata/core/cuda_status.h"
#include "strata/core/device.h"
#include "strata/core/host_slab.h"
#include "strata/core/mutex.h"
#include "strata/core/pin_limits.h"
#include "strata/core/registered_ranges.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

cudaStream_t StreamOf(const DeviceStream& stream) {
  // No work of ours may land on the legacy default stream, which waits for all others.
  return static_cast<cudaStream_t>(CHECK_NOTNULL(stream.handle()));
}
cudaEvent_t EventOf(const DeviceEvent& event) { return static_cast<cudaEvent_t>(event.handle()); }

class CudaDevice : public Device {
 public:
  CudaDevice(const CudaDeviceOptions& options, DeviceProperties properties)
      : ordinal_(options.ordinal),
        memory_limit_(options.memory_limit),
        properties_(std::move(properties)) {}
  ~CudaDevice() override;

  const DeviceProperties& properties() const override { return properties_; }
  absl::StatusOr<DeviceMemoryInfo> GetMemoryInfo() override;
  absl::StatusOr<DeviceMemory> Allocate(int64_t bytes) override;
  absl::StatusOr<PinnedMemory> AllocatePinned(int64_t bytes) override;
  absl::StatusOr<HostRegistration> Register(absl::Span<std::byte> memory) override;
  absl::StatusOr<HostRegistration> RegisterReadOnly(absl::Span<const std::byte> memory) override;
  absl::StatusOr<DeviceStream> CreateStream() override;
  absl::Status CopyToDevice(std::byte* destination, absl::Span<const std::byte> source,
                            const DeviceStream& stream) override;
  absl::Status CopyToHost(absl::Span<std::byte> destination, const std::byte* source,
                          const DeviceStream& stream) override;
  absl::Status CopyBatchToDevice(absl::Span<const HostToDeviceCopy> copies,
                                 const DeviceStream& stream) override;
  absl::Status StreamWait(const DeviceStream& stream, const DeviceEvent& event) override;
  absl::StatusOr<bool> HasEnded(const DeviceEvent& event) override;
  absl::Status Wait(const DeviceEvent& event) override;
  void Drain(const DeviceStream& stream) override;
  void Drain(const DeviceEvent& event) override;
  void ClearError() override { cudaGetLastError(); }

 private:
  void FreeMemory(void* handle) override;
  void FreePinned(void* handle) override;
  void Unregister(void* handle) override;
  void DestroyStream(void* handle) override;
  absl::StatusOr<void*> CreateEventHandle() override;
  absl::Status RecordEvent(const DeviceEvent& event, const DeviceStream& stream) override;

  // Each thread has a current device of its own.
  absl::Status Activate() const { return CudaStatus(cudaSetDevice(ordinal_), "cudaSetDevice"); }
  absl::StatusOr<HostRegistration> RegisterWith(absl::Span<const std::byte> memory,
                                                unsigned int flags);
  absl::Status CopyOneBatch(absl::Span<const HostToDeviceCopy> copies, cudaStream_t stream);

  // Counts an allocation; false when it would exceed the limit.
  bool TakeFromLimit(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  const int ordinal_;
  const int64_t memory_limit_;  // 0: none.
  const DeviceProperties properties_;
  std::atomic<bool> has_batched_copies_ = CUDART_VERSION >= 13000;
  RegisteredRanges registered_;
  Mutex mutex_;
  std::vector<cudaEvent_t> events_ ABSL_GUARDED_BY(mutex_);
  int64_t allocated_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<void*, int64_t> allocations_ ABSL_GUARDED_BY(mutex_);
};

// Destructors have nobody to tell.
void LogFailure(cudaError_t error, absl::string_view call) {
  if (const absl::Status status = CudaStatus(error, call); !status.ok()) LOG(ERROR) << status;
}

CudaDevice::~CudaDevice() {
  MutexLock lock(&mutex_);
  for (const cudaEvent_t event : events_) LogFailure(cudaEventDestroy(event), "cudaEventDestroy");
}

absl::StatusOr<DeviceMemoryInfo> CudaDevice::GetMemoryInfo() {
  RETURN_IF_ERROR(Activate());
  size_t free = 0, total = 0;
  RETURN_IF_ERROR(CudaStatus(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"));
  DeviceMemoryInfo info = {.free_bytes = static_cast<int64_t>(free),
                           .total_bytes = static_cast<int64_t>(total)};
  if (memory_limit_ == 0) return info;
  MutexLock lock(&mutex_);
  info.total_bytes = std::min(info.total_bytes, memory_limit_);
  info.free_bytes = std::min(info.free_bytes, memory_limit_ - allocated_bytes_);
  return info;
}

bool CudaDevice::TakeFromLimit(int64_t bytes) {
  MutexLock lock(&mutex_);
  if (memory_limit_ > 0 && bytes > memory_limit_ - allocated_bytes_) return false;
  allocated_bytes_ += bytes;
  return true;
}

absl::StatusOr<DeviceMemory> CudaDevice::Allocate(int64_t bytes) {
  CHECK_GT(bytes, 0);
  RETURN_IF_ERROR(Activate());
  if (!TakeFromLimit(bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        bytes, " bytes of GPU memory are more than the limit of ", memory_limit_, " leaves"));
  }
  void* memory = nullptr;
  const absl::Status allocated = CudaStatus(cudaMalloc(&memory, bytes), "cudaMalloc", bytes);
  MutexLock lock(&mutex_);
  if (!allocated.ok()) {
    allocated_bytes_ -= bytes;
    return allocated;
  }
  allocations_[memory] = bytes;
  return DeviceMemory(DeviceLoan(*this, DeviceLoan::Kind::kMemory, memory), bytes);
}

absl::StatusOr<PinnedMemory> CudaDevice::AllocatePinned(int64_t bytes) {
  CHECK_GT(bytes, 0);
  RETURN_IF_ERROR(Activate());
  void* memory = nullptr;
  RETURN_IF_ERROR(
      CudaStatus(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc", bytes));
  return PinnedMemory(DeviceLoan(*this, DeviceLoan::Kind::kPinned, memory), bytes);
}

absl::StatusOr<HostRegistration> CudaDevice::Register(absl::Span<std::byte> memory) {
  return RegisterWith(memory, cudaHostRegisterPortable);
}

absl::StatusOr<HostRegistration> CudaDevice::RegisterReadOnly(absl::Span<const std::byte> memory) {
  if (!properties_.can_register_read_only) {
    return absl::UnimplementedError("cudaHostRegisterReadOnly: not supported by this device");
  }
  return RegisterWith(memory, cudaHostRegisterPortable | cudaHostRegisterReadOnly);
}

absl::StatusOr<HostRegistration> CudaDevice::RegisterWith(absl::Span<const std::byte> memory,
                                                          unsigned int flags) {
  RETURN_IF_ERROR(Activate());
  void* const start = const_cast<std::byte*>(memory.data());
  RETURN_IF_ERROR(
      CudaStatus(cudaHostRegister(start, memory.size(), flags), "cudaHostRegister", memory.size()));
  registered_.Add(memory);
  return HostRegistration(DeviceLoan(*this, DeviceLoan::Kind::kRegistration, start));
}

absl::StatusOr<DeviceStream> CudaDevice::CreateStream() {
  RETURN_IF_ERROR(Activate());
  cudaStream_t stream = nullptr;
  RETURN_IF_ERROR(CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                             "cudaStreamCreateWithFlags"));
  return DeviceStream(DeviceLoan(*this, DeviceLoan::Kind::kStream, stream));
}

absl::Status CudaDevice::CopyToDevice(std::byte* destination, absl::Span<const std::byte> source,
                                      const DeviceStream& stream) {
  RETURN_IF_ERROR(Activate());
  for (const absl::Span<const std::byte> part : registered_.PartsOf(source)) {
    RETURN_IF_ERROR(CudaStatus(cudaMemcpyAsync(destination, part.data(), part.size(),
                                               cudaMemcpyHostToDevice, StreamOf(stream)),
                               "cudaMemcpyAsync to the device", part.size()));
    destination += part.size();
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::CopyToHost(absl::Span<std::byte> destination, const std::byte* source,
                                    const DeviceStream& stream) {
  RETURN_IF_ERROR(Activate());
  return CudaStatus(cudaMemcpyAsync(destination.data(), source, destination.size(),
                                    cudaMemcpyDeviceToHost, StreamOf(stream)),
                    "cudaMemcpyAsync to the host", destination.size());
}

absl::Status CudaDevice::CopyBatchToDevice(absl::Span<const HostToDeviceCopy> copies,
                                           const DeviceStream& stream) {
  RETURN_IF_ERROR(Activate());
  while (!copies.empty() && has_batched_copies_) {
    const auto batch = copies.subspan(0, kMaxQueuedCopies);
    const absl::Status status = CopyOneBatch(batch, StreamOf(stream));
    if (absl::IsUnimplemented(status)) {
      has_batched_copies_ = false;  // The driver is older than the runtime: copy one by one.
      break;
    }
    RETURN_IF_ERROR(status);
    copies.remove_prefix(batch.size());
  }
  for (const HostToDeviceCopy& copy : copies) {
    RETURN_IF_ERROR(
        CopyToDevice(copy.destination, absl::MakeConstSpan(copy.source, copy.bytes), stream));
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::CopyOneBatch(absl::Span<const HostToDeviceCopy> copies,
                                      cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  void* destinations[kMaxQueuedCopies];
  const void* sources[kMaxQueuedCopies];
  size_t sizes[kMaxQueuedCopies];
  int64_t bytes = 0;
  for (size_t i = 0; i < copies.size(); ++i) {
    destinations[i] = copies[i].destination;
    sources[i] = copies[i].source;
    sizes[i] = copies[i].bytes;
    bytes += copies[i].bytes;
  }
  // The sources are read in stream order: they stay as they are until the event behind the batch.
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t first_with_attributes = 0;
  return CudaStatus(cudaMemcpyBatchAsync(destinations, sources, sizes, copies.size(), &attributes,
                                         &first_with_attributes, 1, stream),
                    absl::StrCat("cudaMemcpyBatchAsync of ", copies.size(), " copies"), bytes);
#else
  return absl::UnimplementedError("this runtime has no batched copies");
#endif
}

absl::Status CudaDevice::StreamWait(const DeviceStream& stream, const DeviceEvent& event) {
  if (event.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(Activate());
  return CudaStatus(cudaStreamWaitEvent(StreamOf(stream), EventOf(event), 0),
                    "cudaStreamWaitEvent");
}

absl::StatusOr<bool> CudaDevice::HasEnded(const DeviceEvent& event) {
  if (event.empty()) return true;
  const cudaError_t state = cudaEventQuery(EventOf(event));
  if (state == cudaErrorNotReady) {
    cudaGetLastError();  // The runtime keeps even this one.
    return false;
  }
  RETURN_IF_ERROR(CudaStatus(state, "cudaEventQuery"));
  return true;
}

absl::Status CudaDevice::Wait(const DeviceEvent& event) {
  if (event.empty()) return absl::OkStatus();
  return CudaStatus(cudaEventSynchronize(EventOf(event)), "cudaEventSynchronize");
}

// An error here is that of the whole context: nothing of it runs any more.
void CudaDevice::Drain(const DeviceStream& stream) {
  LogFailure(cudaStreamSynchronize(StreamOf(stream)), "cudaStreamSynchronize");
}

void CudaDevice::Drain(const DeviceEvent& event) {
  if (!event.empty()) LogFailure(cudaEventSynchronize(EventOf(event)), "cudaEventSynchronize");
}

void CudaDevice::FreeMemory(void* handle) {
  LogFailure(cudaFree(handle), "cudaFree");
  MutexLock lock(&mutex_);
  const auto allocation = allocations_.find(handle);
  allocated_bytes_ -= allocation->second;
  allocations_.erase(allocation);
}

void CudaDevice::FreePinned(void* handle) { LogFailure(cudaFreeHost(handle), "cudaFreeHost"); }

void CudaDevice::Unregister(void* handle) {
  registered_.Remove(handle);
  LogFailure(cudaHostUnregister(handle), "cudaHostUnregister");
}

void CudaDevice::DestroyStream(void* handle) {
  LogFailure(cudaStreamDestroy(static_cast<cudaStream_t>(handle)), "cudaStreamDestroy");
}

absl::StatusOr<void*> CudaDevice::CreateEventHandle() {
  RETURN_IF_ERROR(Activate());
  cudaEvent_t event = nullptr;
  RETURN_IF_ERROR(CudaStatus(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                             "cudaEventCreateWithFlags"));
  MutexLock lock(&mutex_);
  events_.push_back(event);
  return event;
}

absl::Status CudaDevice::RecordEvent(const DeviceEvent& event, const DeviceStream& stream) {
  return CudaStatus(cudaEventRecord(EventOf(event), StreamOf(stream)), "cudaEventRecord");
}

// Whether the driver charges pinned memory to the process's lock limit: seen by pinning a little.
bool PinsCountAsLocked() {
  constexpr int64_t kProbeBytes = 64 << 10;
  const absl::StatusOr<HostSlab> slab = HostSlab::Map(kProbeBytes, /*huge_pages=*/false);
  if (!slab.ok()) return true;
  slab->Touch(1);
  const int64_t before = ReadLockedBytes();
  if (!CudaStatus(cudaHostRegister(slab->bytes().data(), kProbeBytes, cudaHostRegisterDefault),
                  "cudaHostRegister", kProbeBytes)
           .ok()) {
    return true;
  }
  const bool charged = ReadLockedBytes() >= before + kProbeBytes;
  LogFailure(cudaHostUnregister(slab->bytes().data()), "cudaHostUnregister");
  return charged;
}

absl::StatusOr<bool> Supports(cudaDeviceAttr attribute, int ordinal) {
  int value = 0;
  RETURN_IF_ERROR(
      CudaStatus(cudaDeviceGetAttribute(&value, attribute, ordinal), "cudaDeviceGetAttribute"));
  return value != 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> CreateCudaDevice(const CudaDeviceOptions& options) {
  const int ordinal = options.ordinal;
  int num_devices = 0;
  if (const absl::Status found = CudaStatus(cudaGetDeviceCount(&num_devices), "cudaGetDeviceCount");
      !found.ok()) {
    return absl::UnavailableError(absl::StrCat("no CUDA device: ", found.message()));
  }
  if (ordinal < 0 || ordinal >= num_devices) {
    return absl::UnavailableError(
        absl::StrCat("no CUDA device ", ordinal, ": this machine has ", num_devices));
  }
  RETURN_IF_ERROR(CudaStatus(cudaSetDevice(ordinal), "cudaSetDevice"));
  cudaDeviceProp card = {};
  RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&card, ordinal), "cudaGetDeviceProperties"));
  DeviceProperties properties = {
      .name = card.name, .is_gpu = true, .compute_capability = 10 * card.major + card.minor};
  ASSIGN_OR_RETURN(properties.can_register_read_only,
                   Supports(cudaDevAttrHostRegisterReadOnlySupported, ordinal));
  ASSIGN_OR_RETURN(properties.reads_host_memory,
                   Supports(cudaDevAttrCanUseHostPointerForRegisteredMem, ordinal));
  properties.pins_count_as_locked = PinsCountAsLocked();
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(options, std::move(properties)));
}

}  // namespace strata
