// The streams and events of a HostDevice: a thread that works through a queue in order.
#ifndef STRATA_CORE_HOST_STREAM_H_
#define STRATA_CORE_HOST_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/mutex.h"

namespace strata {

// Thread-safe.
class HostEvent {
 public:
  void Restart() ABSL_LOCKS_EXCLUDED(mutex_);
  void End(absl::Status outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  bool ended() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until the end; the outcome.
  absl::Status Wait() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable Mutex mutex_;
  CondVar end_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
};

// One thread and its queue of copies, records and waits. A copy reads its source when it runs, not
// when it is queued. After a failed copy the stream is failed: the events behind it carry the
// error.
//
// Thread-safe; its end runs what is left, held or not.
class HostStream {
 public:
  struct Options {
    bool hold_copies = false;      // Copies wait for RunHeldCopies.
    double bytes_per_second = 0;   // 0: as fast as memcpy.
    int max_delay_yields = 0;      // A random time, up to this, before each copy and inside it.
    bool shuffle_batches = false;  // The copies of a batch run in random order.
    uint64_t seed = 0;
    // Called before each copy; an error fails the copy, which then moves half of its bytes.
    std::function<absl::Status(const HostToDeviceCopy& copy)> before_copy;
    // Called after each copy that moved all of its bytes; may be empty.
    std::function<void(const HostToDeviceCopy& copy)> after_copy;
  };

  explicit HostStream(Options options);
  ~HostStream();

  void Copy(absl::Span<const HostToDeviceCopy> copies) ABSL_LOCKS_EXCLUDED(mutex_);
  // The stream keeps the source: how a copy from pageable memory can outlive its call.
  void CopyOwned(std::byte* destination, std::vector<std::byte> source) ABSL_LOCKS_EXCLUDED(mutex_);
  void Record(const DeviceEvent& event) ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitFor(const DeviceEvent& event) ABSL_LOCKS_EXCLUDED(mutex_);
  // In the place of a kernel: the stream's thread calls it in its turn, unless the stream has
  // failed.
  void Call(std::function<void()> function) ABSL_LOCKS_EXCLUDED(mutex_);

  // Lets the copies that are queued now run; FinishHeldCopies waits until they have.
  void ReleaseHeldCopies() ABSL_LOCKS_EXCLUDED(mutex_);
  void FinishHeldCopies() ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until the queue is empty; the stream's failure, if it has failed.
  absl::Status Finish() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, and the stream has not failed any more.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);

  // The most copies that were ever queued at once.
  int max_queued_copies() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Work {
    enum class Kind { kCopy, kRecord, kWait, kCall } kind = Kind::kCopy;
    HostToDeviceCopy copy = {};
    std::vector<std::byte> owned_source = {};
    DeviceEvent event = {};
    std::function<void()> function = {};
  };

  void Push(Work work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRunNext() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool failed() const ABSL_LOCKS_EXCLUDED(mutex_);
  void RunUntilClosed() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Run(Work& work);
  absl::Status RunCopy(const HostToDeviceCopy& copy);
  void Dawdle();

  const Options options_;
  std::mt19937_64 random_;  // Of the stream's thread.

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Work> ring_ ABSL_GUARDED_BY(mutex_);  // Grows, never shrinks.
  // Numbers of work since the start: done, queued, and how far held copies may run.
  int64_t num_done_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_queued_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t run_until_ ABSL_GUARDED_BY(mutex_) = 0;
  int queued_copies_ ABSL_GUARDED_BY(mutex_) = 0;
  int max_queued_copies_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::mt19937_64 shuffle_random_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> shuffled_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace strata

#endif  // STRATA_CORE_HOST_STREAM_H_
