// Work on a stream of its own that begins when the test lets it, and then writes over memory that
// it has borrowed: a prompt that outlives its loan.
#ifndef STRATA_CACHE_TIER_TESTING_LATE_WORK_H_
#define STRATA_CACHE_TIER_TESTING_LATE_WORK_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <future>
#include <thread>

#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/host_device.h"

namespace strata {

class LateWork {
 public:
  explicit LateWork(HostDevice& device) : device_(device), stream_(*device.CreateStream()) {}
  ~LateWork() {
    if (later_.joinable()) later_.join();
    LetRun();
    device_.Drain(stream_);
  }

  const DeviceStream& stream() const { return stream_; }

  // Queues the work; the event behind it.
  DeviceEvent WriteOver(absl::Span<std::byte> memory) {
    device_.Launch(stream_, [this, memory, may_run = may_run_.get_future().share()] {
      may_run.wait();
      std::memset(memory.data(), 0xee, memory.size());
      has_run_ = true;
    });
    return *device_.Record(stream_);
  }
  void LetRun() {
    if (!let_.exchange(true)) may_run_.set_value();
  }
  // A little later, while the caller waits for the work.
  void LetRunSoon() {
    later_ = std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      LetRun();
    });
  }
  bool has_run() const { return has_run_; }

 private:
  HostDevice& device_;
  const DeviceStream stream_;
  std::promise<void> may_run_;
  std::atomic<bool> let_ = false, has_run_ = false;
  std::thread later_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TESTING_LATE_WORK_H_
