// A stream of copies to the device that keeps the driver's queue short of full: issuing into a full
// queue blocks inside the driver, in a call that holds up everybody else's.
//
// Thread-safe. The device outlives it; its end waits for the copies.
#ifndef STRATA_CACHE_TRANSFER_COPY_QUEUE_H_
#define STRATA_CACHE_TRANSFER_COPY_QUEUE_H_

#include <array>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_events.h"
#include "strata/core/mutex.h"

namespace strata {

class CopyQueue {
 public:
  enum class Issue {
    kTogether,  // One call for all copies: their sources are pinned.
    kOneByOne,
  };

  static absl::StatusOr<std::unique_ptr<CopyQueue>> Create(Device& device);
  ~CopyQueue();

  // Queues the copies and returns the event that ends after them; waits while there is no room for
  // them. On an error none of them is running any more: their sources and destinations are free.
  absl::StatusOr<DeviceEvent> Submit(absl::Span<const HostToDeviceCopy> copies, Issue issue)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Copies submitted from now on wait for the events.
  absl::Status WaitFor(const DeviceEvents& events) ABSL_LOCKS_EXCLUDED(mutex_);

  // True when Finish will not block.
  bool Done() ABSL_LOCKS_EXCLUDED(mutex_);

  // Blocks until all copies have ended. An error if one failed since the last Finish that was not
  // told by Submit; then the queue is as good as new.
  absl::Status Finish() ABSL_LOCKS_EXCLUDED(mutex_);

  const DeviceStream& stream() const { return stream_; }

 private:
  // Submissions in flight, oldest first.
  struct InFlight {
    DeviceEvent event;
    int num_copies = 0;
  };

  CopyQueue(Device& device, DeviceStream stream) : device_(device), stream_(std::move(stream)) {}

  absl::StatusOr<DeviceEvent> SubmitOneLoad(absl::Span<const HostToDeviceCopy> copies, Issue issue)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<DeviceEvent> IssueAndRecord(absl::Span<const HostToDeviceCopy> copies, Issue issue)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeRoom(int num_copies) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PopOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After an error: nothing is in flight.
  void Reset() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Device& device_;
  const DeviceStream stream_;

  Mutex mutex_;
  std::array<InFlight, Device::kMaxQueuedCopies> ring_ ABSL_GUARDED_BY(mutex_);
  int oldest_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_submissions_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_copies_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_TRANSFER_COPY_QUEUE_H_
