// Equal stages of host memory through which expert weights pass on their way from the mapped file
// to the GPU. The pool owns one slab, pinned once; a Stage is a move-only lease on one piece of it.
//
// A stage is free, filling, ready or in flight. It is free again only when its lease is gone and
// every event given to ReleaseAfter has ended: a copy from pinned memory still reads the stage when
// the call that started it has returned. Nothing else frees a stage, no age, no count and no time.
//
//   Acquire -> filling --MarkReady--> ready --ReleaseAfter(event)--> in flight --> free
//
// Thread-safe; a lease is used by one thread at a time. The pool outlives its leases, and its end
// waits for the copies. Nothing is allocated after Create. Sizes are in bytes.
#ifndef STRATA_CACHE_STAGE_STAGE_POOL_H_
#define STRATA_CACHE_STAGE_STAGE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/host_memory.h"
#include "strata/core/mutex.h"

namespace strata {

class StagePool {
 public:
  struct Options {
    int64_t stage_bytes = 0;  // The largest blob.
    int num_stages = 32;
    int min_stages = 4;  // With fewer pinned stages than this, all are pageable.
  };

  enum class State { kFree, kFilling, kReady, kInFlight };

  struct Counters {
    int64_t acquired = 0;
    int64_t reused = 0;     // Acquired, and had been used before.
    int64_t waits = 0;      // Acquired after waiting, or not even then.
    int64_t wait_us = 0;    // All waits together.
    int64_t exhausted = 0;  // TryAcquire or Acquire that came back without a stage.
  };

  class Stage;

  // kInvalidArgument if an option is not positive; kResourceExhausted without any memory.
  static absl::StatusOr<std::unique_ptr<StagePool>> Create(const Options& options,
                                                           HostMemory& memory);
  ~StagePool();

  // Blocks until a stage is free. An error is the device's: it cannot say which copies have ended,
  // and no other stage is free.
  absl::StatusOr<Stage> Acquire() ABSL_LOCKS_EXCLUDED(mutex_);
  // Empty when none is free now.
  std::optional<Stage> TryAcquire() ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t stage_bytes() const { return stage_bytes_; }
  int num_stages() const { return static_cast<int>(slots_.size()); }
  // Stages in a state, after asking the device which copies have ended.
  int CountIn(State state) ABSL_LOCKS_EXCLUDED(mutex_);
  int num_free() { return CountIn(State::kFree); }
  Counters counters() const ABSL_LOCKS_EXCLUDED(mutex_);
  const HostBuffer& memory() const { return slab_; }

 private:
  struct Slot {
    State state = State::kFree;
    bool leased = false;
    bool used_before = false;
    std::vector<DeviceEvent> events;  // Of copies that may still read it.
  };

  StagePool(int64_t stage_bytes, HostBuffer slab, Device& device);

  // Blocks until a stage is free.
  absl::Status WaitForFree() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Frees what has ended, the longest in flight first, until this many were found running.
  absl::Status CollectEnded(int max_running) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> HaveEnded(std::vector<DeviceEvent>& events) const;
  Stage Lease() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // For Stage.
  std::byte* DataOf(int index) const { return slab_.data() + index * stage_bytes_; }
  void MarkReady(int index) ABSL_LOCKS_EXCLUDED(mutex_);
  void ReleaseAfter(int index, DeviceEvent event) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndLease(int index) ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t stage_bytes_;
  const HostBuffer slab_;
  Device& device_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Slot> slots_;  // As many as ever; their contents are guarded.
  std::vector<int> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> in_flight_ ABSL_GUARDED_BY(mutex_);  // Without a lease, oldest first.
  bool somebody_watches_ ABSL_GUARDED_BY(mutex_) = false;
  Counters counters_ ABSL_GUARDED_BY(mutex_);
};

class StagePool::Stage {
 public:
  Stage(Stage&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), index_(other.index_) {}
  Stage& operator=(Stage&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~Stage() {
    if (pool_ != nullptr) pool_->EndLease(index_);
  }

  absl::Span<std::byte> bytes() const {
    return absl::MakeSpan(pool_->DataOf(index_), pool_->stage_bytes_);
  }
  std::byte* data() const { return pool_->DataOf(index_); }
  bool pinned() const { return pool_->slab_.pinned(); }

  // The bytes are complete: a copy may read them from now on.
  void MarkReady() { pool_->MarkReady(index_); }
  // A copy that ends with `event` reads the ready stage. Several copies may, each with its event.
  // A copy whose event could not be recorded must be drained before the lease ends.
  void ReleaseAfter(DeviceEvent event) { pool_->ReleaseAfter(index_, std::move(event)); }

 private:
  friend class StagePool;
  Stage(StagePool* pool, int index) : pool_(pool), index_(index) {}

  StagePool* pool_;
  int index_;
};

}  // namespace strata

#endif  // STRATA_CACHE_STAGE_STAGE_POOL_H_
