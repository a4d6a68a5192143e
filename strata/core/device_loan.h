// What a device lends: move-only objects that give it back when they end. They must not outlive the
// device.
#ifndef STRATA_CORE_DEVICE_LOAN_H_
#define STRATA_CORE_DEVICE_LOAN_H_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace strata {

class Device;

// A handle of the driver together with the call that frees it.
class DeviceLoan {
 public:
  enum class Kind { kMemory, kPinned, kRegistration, kStream };

  DeviceLoan() = default;
  DeviceLoan(Device& device, Kind kind, void* handle)
      : device_(&device), kind_(kind), handle_(handle) {}
  DeviceLoan(DeviceLoan&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        kind_(other.kind_),
        handle_(std::exchange(other.handle_, nullptr)) {}
  DeviceLoan& operator=(DeviceLoan&& other) noexcept {
    DeviceLoan taken(std::move(other));
    std::swap(device_, taken.device_);
    std::swap(kind_, taken.kind_);
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~DeviceLoan();

  void* handle() const { return handle_; }

 private:
  Device* device_ = nullptr;
  Kind kind_ = Kind::kMemory;
  void* handle_ = nullptr;
};

// Memory of the device itself; the host must not touch it.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceLoan loan, int64_t bytes) : loan_(std::move(loan)), bytes_(bytes) {}
  std::byte* data() const { return static_cast<std::byte*>(loan_.handle()); }
  int64_t size() const { return bytes_; }

 private:
  DeviceLoan loan_;
  int64_t bytes_ = 0;
};

// Page-locked host memory that the driver allocated.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(DeviceLoan loan, int64_t bytes) : loan_(std::move(loan)), bytes_(bytes) {}
  std::byte* data() const { return static_cast<std::byte*>(loan_.handle()); }
  int64_t size() const { return bytes_; }

 private:
  DeviceLoan loan_;
  int64_t bytes_ = 0;
};

// Keeps somebody else's host memory page-locked.
class HostRegistration {
 public:
  HostRegistration() = default;
  explicit HostRegistration(DeviceLoan loan) : loan_(std::move(loan)) {}

 private:
  DeviceLoan loan_;
};

// A queue of work that runs in order.
class DeviceStream {
 public:
  DeviceStream() = default;
  explicit DeviceStream(DeviceLoan loan) : loan_(std::move(loan)) {}
  // cudaStream_t, or HostDevice's queue.
  void* handle() const { return loan_.handle(); }

 private:
  DeviceLoan loan_;
};

}  // namespace strata

#endif  // STRATA_CORE_DEVICE_LOAN_H_
