// A device made of ordinary memory, honest about time: the default backend where there is no GPU,
// and what tests use in place of one.
//
// A stream is a thread with a queue. A copy from pinned memory reads its source when it runs, long
// after the call that queued it; speed, order and failures of copies can be set, and copies can be
// held until a test lets them run. An error stays: every later call returns it until ClearError.
#ifndef STRATA_CORE_HOST_DEVICE_H_
#define STRATA_CORE_HOST_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/host_device_faults.h"
#include "strata/core/host_pins.h"
#include "strata/core/host_stream.h"
#include "strata/core/mutex.h"

namespace strata {

class HostDevice : public Device {
 public:
  enum Copies { kFree, kHeld };
  static constexpr int64_t kNoPinLimit = std::numeric_limits<int64_t>::max();

  struct Options {
    Copies copies = kFree;             // kHeld: they wait for RunHeldCopies.
    double copy_bytes_per_second = 0;  // 0: as fast as memcpy.
    int max_delay_yields = 0;          // Random delays: streams overtake each other.
    bool shuffle_batches = false;      // Copies of a batch run in random order.
    uint64_t seed = 1;                 // Of delays and shuffles.
    int64_t memory_bytes = int64_t{1} << 40;
    int64_t pin_limit_bytes = kNoPinLimit;  // As RLIMIT_MEMLOCK would; else nothing is locked.
    bool can_register_read_only = true;
    absl::Status read_only_refusal = {};  // What every RegisterReadOnly gets, as of a filesystem.
    // For tests that spoil bytes: called by a stream's thread before it reads a copy's source, and
    // after the copy. May be empty.
    std::function<void(const HostToDeviceCopy&)> before_copy = {};
    std::function<void(const HostToDeviceCopy&)> after_copy = {};
  };

  HostDevice() : HostDevice(Options()) {}
  explicit HostDevice(const Options& options);
  ~HostDevice() override;

  // Runs the copies that are queued now, of all streams or of one, and returns when they have
  // ended. Copies issued later are held again.
  void RunHeldCopies() ABSL_LOCKS_EXCLUDED(mutex_);
  void RunHeldCopies(const DeviceStream& stream);

  // Queues a function in the place of a kernel: the stream's thread calls it in its turn, at its
  // own time. As on a card, nothing runs that comes after a failed copy, until the stream is
  // drained: who counts on what a kernel does counts those that ran.
  void Launch(const DeviceStream& stream, std::function<void()> kernel);

  HostDeviceFaults& faults() { return faults_; }
  int64_t pinned_bytes() const { return pins_.pinned_bytes(); }
  // The most copies that one stream ever held; streams that are gone do not count.
  int max_queued_copies() const ABSL_LOCKS_EXCLUDED(mutex_);

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
  void ClearError() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void FreeMemory(void* handle) override;
  void FreePinned(void* handle) override;
  void Unregister(void* handle) override;
  void DestroyStream(void* handle) override;
  absl::StatusOr<void*> CreateEventHandle() override;
  absl::Status RecordEvent(const DeviceEvent& event, const DeviceStream& stream) override;

  // Throws where the system starts no more threads.
  HostStream* AddStream() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<HostRegistration> RegisterAs(absl::Span<const std::byte> memory,
                                              HostPins::Access access);
  // The error that waits to be cleared, else whether the fault plan strikes this call.
  absl::Status Enter(HostDeviceFaults::Call call, int64_t bytes);
  absl::Status StandingError() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Names the call, keeps the error until ClearError, and returns it.
  absl::Status Refuse(absl::string_view call, int64_t bytes, const absl::Status& reason)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  const DeviceProperties properties_;
  HostDeviceFaults faults_;
  HostPins pins_;

  mutable Mutex mutex_;
  absl::Status standing_error_ ABSL_GUARDED_BY(mutex_);
  std::map<void*, int64_t> allocations_ ABSL_GUARDED_BY(mutex_);
  int64_t allocated_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<HostStream>> streams_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_streams_made_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<HostEvent>> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace strata

#endif  // STRATA_CORE_HOST_DEVICE_H_
