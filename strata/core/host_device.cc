#include "strata/core/host_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/device.h"
#include "strata/core/host_device_faults.h"
#include "strata/core/host_pins.h"
#include "strata/core/host_stream.h"
#include "strata/core/mutex.h"
#include "strata/core/refusal.h"
#include "strata/core/status_copy.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;

constexpr int64_t kMemoryAlignment = 256;
constexpr int64_t kPageBytes = 4096;

int64_t RoundUp(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

HostStream& StreamOf(const DeviceStream& stream) {
  return *static_cast<HostStream*>(CHECK_NOTNULL(stream.handle()));
}
HostEvent& EventOf(const DeviceEvent& event) { return *static_cast<HostEvent*>(event.handle()); }

absl::Status FaultOf(Call call) {
  const std::string message = "a fault of the test's plan";
  switch (call) {
    case Call::kAllocate:
    case Call::kAllocatePinned:
    case Call::kRegister:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace

HostDevice::HostDevice(const Options& options)
    : options_(options),
      properties_({.name = "host memory (no GPU)",
                   .is_gpu = false,
                   .can_register_read_only = options.can_register_read_only,
                   .reads_host_memory = true,
                   .pins_count_as_locked = options.pin_limit_bytes != kNoPinLimit}),
      pins_(options.pin_limit_bytes) {}

HostDevice::~HostDevice() {
  MutexLock lock(&mutex_);
  CHECK(streams_.empty()) << "a stream outlives its device";
  CHECK(allocations_.empty()) << "memory outlives its device";
}

void HostDevice::RunHeldCopies() {
  std::vector<HostStream*> streams;
  {
    MutexLock lock(&mutex_);
    for (const auto& stream : streams_) streams.push_back(stream.get());
  }
  // All together first: one stream may wait for another.
  for (HostStream* stream : streams) stream->ReleaseHeldCopies();
  for (HostStream* stream : streams) stream->FinishHeldCopies();
}

void HostDevice::RunHeldCopies(const DeviceStream& stream) {
  StreamOf(stream).ReleaseHeldCopies();
  StreamOf(stream).FinishHeldCopies();
}

void HostDevice::Launch(const DeviceStream& stream, std::function<void()> kernel) {
  StreamOf(stream).Call(std::move(kernel));
}

int HostDevice::max_queued_copies() const {
  MutexLock lock(&mutex_);
  int most = 0;
  for (const auto& stream : streams_) most = std::max(most, stream->max_queued_copies());
  return most;
}

absl::StatusOr<DeviceMemoryInfo> HostDevice::GetMemoryInfo() {
  RETURN_IF_ERROR(StandingError());
  MutexLock lock(&mutex_);
  return DeviceMemoryInfo{.free_bytes = options_.memory_bytes - allocated_bytes_,
                          .total_bytes = options_.memory_bytes};
}

absl::StatusOr<DeviceMemory> HostDevice::Allocate(int64_t bytes) {
  CHECK_GT(bytes, 0);
  RETURN_IF_ERROR(Enter(Call::kAllocate, bytes));
  const DeviceMemoryInfo info = *GetMemoryInfo();
  void* memory = nullptr;
  if (bytes <= info.free_bytes) {
    memory = std::aligned_alloc(kMemoryAlignment, RoundUp(bytes, kMemoryAlignment));
  }
  if (memory == nullptr) {
    return Refuse("allocate", bytes,
                  absl::ResourceExhaustedError(absl::StrCat(
                      "out of memory: ", info.free_bytes, " of ", info.total_bytes, " are free")));
  }
  MutexLock lock(&mutex_);
  allocations_[memory] = bytes;
  allocated_bytes_ += bytes;
  return DeviceMemory(DeviceLoan(*this, DeviceLoan::Kind::kMemory, memory), bytes);
}

absl::StatusOr<PinnedMemory> HostDevice::AllocatePinned(int64_t bytes) {
  CHECK_GT(bytes, 0);
  RETURN_IF_ERROR(Enter(Call::kAllocatePinned, bytes));
  const int64_t mapped_bytes = RoundUp(bytes, kPageBytes);
  void* memory = std::aligned_alloc(kPageBytes, mapped_bytes);
  if (memory == nullptr) {
    return Refuse("allocate pinned", bytes, absl::ResourceExhaustedError("out of memory"));
  }
  const absl::Status pinned = pins_.Pin(absl::MakeConstSpan(static_cast<std::byte*>(memory), bytes),
                                        HostPins::Access::kWritable);
  if (!pinned.ok()) {
    std::free(memory);
    return Refuse("allocate pinned", bytes, pinned);
  }
  return PinnedMemory(DeviceLoan(*this, DeviceLoan::Kind::kPinned, memory), bytes);
}

absl::StatusOr<HostRegistration> HostDevice::Register(absl::Span<std::byte> memory) {
  return RegisterAs(memory, HostPins::Access::kWritable);
}

absl::StatusOr<HostRegistration> HostDevice::RegisterReadOnly(absl::Span<const std::byte> memory) {
  if (!options_.can_register_read_only) {
    return Refuse("register read-only", memory.size(),
                  absl::UnimplementedError("operation not supported"));
  }
  return RegisterAs(memory, HostPins::Access::kSharedReadOnly);
}

absl::StatusOr<HostRegistration> HostDevice::RegisterAs(absl::Span<const std::byte> memory,
                                                        HostPins::Access access) {
  RETURN_IF_ERROR(Enter(Call::kRegister, memory.size()));
  absl::Status pinned;
  if (access == HostPins::Access::kSharedReadOnly) pinned = DeepCopy(options_.read_only_refusal);
  if (pinned.ok()) pinned = pins_.Pin(memory, access);
  if (!pinned.ok()) return Refuse("register", memory.size(), pinned);
  void* const handle = const_cast<std::byte*>(memory.data());
  return HostRegistration(DeviceLoan(*this, DeviceLoan::Kind::kRegistration, handle));
}

absl::StatusOr<DeviceStream> HostDevice::CreateStream() {
  RETURN_IF_ERROR(Enter(Call::kCreateStream, 0));
  HostStream* stream = nullptr;
  const absl::Status made = CatchRefusal([&] {
    stream = AddStream();
    return absl::OkStatus();
  });
  if (!made.ok()) return Refuse("create stream", 0, made);
  return DeviceStream(DeviceLoan(*this, DeviceLoan::Kind::kStream, stream));
}

HostStream* HostDevice::AddStream() {
  MutexLock lock(&mutex_);
  streams_.push_back(std::make_unique<HostStream>(
      HostStream::Options{.hold_copies = options_.copies == kHeld,
                          .bytes_per_second = options_.copy_bytes_per_second,
                          .max_delay_yields = options_.max_delay_yields,
                          .shuffle_batches = options_.shuffle_batches,
                          .seed = options_.seed + 1000 * num_streams_made_++,
                          .before_copy = [this](const HostToDeviceCopy& copy) -> absl::Status {
                            if (options_.before_copy) options_.before_copy(copy);
                            if (!faults_.Strikes(Call::kRunCopy)) return absl::OkStatus();
                            return Refuse(HostDeviceFaults::NameOf(Call::kRunCopy), copy.bytes,
                                          FaultOf(Call::kRunCopy));
                          },
                          .after_copy = options_.after_copy}));
  return streams_.back().get();
}

absl::Status HostDevice::CopyToDevice(std::byte* destination, absl::Span<const std::byte> source,
                                      const DeviceStream& stream) {
  RETURN_IF_ERROR(Enter(Call::kCopy, source.size()));
  if (pins_.Holds(source)) {
    const HostToDeviceCopy copy = {.destination = destination,
                                   .source = source.data(),
                                   .bytes = static_cast<int64_t>(source.size())};
    StreamOf(stream).Copy({&copy, 1});
  } else {
    StreamOf(stream).CopyOwned(destination, std::vector<std::byte>(source.begin(), source.end()));
  }
  return absl::OkStatus();
}

absl::Status HostDevice::CopyToHost(absl::Span<std::byte> destination, const std::byte* source,
                                    const DeviceStream& stream) {
  RETURN_IF_ERROR(Enter(Call::kCopy, destination.size()));
  const HostToDeviceCopy copy = {.destination = destination.data(),
                                 .source = source,
                                 .bytes = static_cast<int64_t>(destination.size())};
  StreamOf(stream).Copy({&copy, 1});
  return pins_.Holds(destination) ? absl::OkStatus() : StreamOf(stream).Finish();
}

absl::Status HostDevice::CopyBatchToDevice(absl::Span<const HostToDeviceCopy> copies,
                                           const DeviceStream& stream) {
  int64_t bytes = 0;
  for (const HostToDeviceCopy& copy : copies) {
    CHECK(pins_.Holds({copy.source, static_cast<size_t>(copy.bytes)}))
        << "a batch copies from memory that is not pinned";
    bytes += copy.bytes;
  }
  RETURN_IF_ERROR(Enter(Call::kCopy, bytes));
  StreamOf(stream).Copy(copies);
  return absl::OkStatus();
}

absl::Status HostDevice::StreamWait(const DeviceStream& stream, const DeviceEvent& event) {
  RETURN_IF_ERROR(StandingError());
  if (!event.empty()) StreamOf(stream).WaitFor(event);
  return absl::OkStatus();
}

absl::StatusOr<bool> HostDevice::HasEnded(const DeviceEvent& event) {
  RETURN_IF_ERROR(StandingError());
  return event.empty() || EventOf(event).ended();
}

absl::Status HostDevice::Wait(const DeviceEvent& event) {
  RETURN_IF_ERROR(StandingError());
  return event.empty() ? absl::OkStatus() : EventOf(event).Wait();
}

void HostDevice::Drain(const DeviceStream& stream) { StreamOf(stream).Drain(); }

void HostDevice::Drain(const DeviceEvent& event) {
  if (!event.empty()) EventOf(event).Wait().IgnoreError();
}

void HostDevice::ClearError() {
  MutexLock lock(&mutex_);
  standing_error_ = absl::OkStatus();
}

void HostDevice::FreeMemory(void* handle) {
  MutexLock lock(&mutex_);
  const auto allocation = allocations_.find(handle);
  CHECK(allocation != allocations_.end());
  allocated_bytes_ -= allocation->second;
  allocations_.erase(allocation);
  std::free(handle);
}

void HostDevice::FreePinned(void* handle) {
  pins_.Unpin(handle);
  std::free(handle);
}

void HostDevice::Unregister(void* handle) { pins_.Unpin(handle); }

void HostDevice::DestroyStream(void* handle) {
  std::unique_ptr<HostStream> stream;  // Ends after the lock: its copies may still want to fail.
  MutexLock lock(&mutex_);
  const auto place = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const auto& each) { return each.get() == handle; });
  CHECK(place != streams_.end());
  stream = std::move(*place);
  streams_.erase(place);
}

absl::StatusOr<void*> HostDevice::CreateEventHandle() {
  MutexLock lock(&mutex_);
  events_.push_back(std::make_unique<HostEvent>());
  return events_.back().get();
}

absl::Status HostDevice::RecordEvent(const DeviceEvent& event, const DeviceStream& stream) {
  RETURN_IF_ERROR(Enter(Call::kRecord, 0));
  StreamOf(stream).Record(event);
  return absl::OkStatus();
}

absl::Status HostDevice::Enter(Call call, int64_t bytes) {
  RETURN_IF_ERROR(StandingError());
  if (!faults_.Strikes(call)) return absl::OkStatus();
  return Refuse(HostDeviceFaults::NameOf(call), bytes, FaultOf(call));
}

absl::Status HostDevice::StandingError() const {
  MutexLock lock(&mutex_);
  return DeepCopy(standing_error_);
}

absl::Status HostDevice::Refuse(absl::string_view call, int64_t bytes, const absl::Status& reason) {
  const absl::Status error(reason.code(), absl::StrCat("HostDevice ", call, " of ", bytes,
                                                       " bytes: ", reason.message()));
  MutexLock lock(&mutex_);
  if (standing_error_.ok()) standing_error_ = DeepCopy(error);
  return error;
}

}  // namespace strata
