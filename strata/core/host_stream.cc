#include "strata/core/host_stream.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/mutex.h"
#include "strata/core/status_copy.h"

namespace strata {
namespace {

// Every copy of a full queue with a record and a wait of its own: who uses a stream as it is meant
// never sees its queue grow.
constexpr int kUsualWork = 4 * Device::kMaxQueuedCopies;

}  // namespace

void HostEvent::Restart() {
  MutexLock lock(&mutex_);
  ended_ = false;
  outcome_ = absl::OkStatus();
}

void HostEvent::End(absl::Status outcome) {
  MutexLock lock(&mutex_);
  ended_ = true;
  outcome_ = std::move(outcome);
  end_.NotifyAll();
}

bool HostEvent::ended() const {
  MutexLock lock(&mutex_);
  return ended_;
}

absl::Status HostEvent::Wait() {
  MutexLock lock(&mutex_);
  while (!ended_) end_.Wait(&mutex_);
  return DeepCopy(outcome_);
}

HostStream::HostStream(Options options)
    : options_(std::move(options)),
      random_(options_.seed),
      ring_(kUsualWork),
      shuffle_random_(options_.seed + 1),
      thread_([this] { RunUntilClosed(); }) {}

HostStream::~HostStream() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void HostStream::Copy(absl::Span<const HostToDeviceCopy> copies) {
  MutexLock lock(&mutex_);
  shuffled_.resize(copies.size());
  std::iota(shuffled_.begin(), shuffled_.end(), 0);
  if (options_.shuffle_batches) {
    std::shuffle(shuffled_.begin(), shuffled_.end(), shuffle_random_);
  }
  for (const int index : shuffled_) Push({.copy = copies[index]});
}

void HostStream::CopyOwned(std::byte* destination, std::vector<std::byte> source) {
  MutexLock lock(&mutex_);
  const HostToDeviceCopy copy = {.destination = destination,
                                 .source = source.data(),
                                 .bytes = static_cast<int64_t>(source.size())};
  Push({.copy = copy, .owned_source = std::move(source)});
}

void HostStream::Record(const DeviceEvent& event) {
  static_cast<HostEvent*>(event.handle())->Restart();
  MutexLock lock(&mutex_);
  Push({.kind = Work::Kind::kRecord, .event = event});
}

void HostStream::WaitFor(const DeviceEvent& event) {
  MutexLock lock(&mutex_);
  Push({.kind = Work::Kind::kWait, .event = event});
}

void HostStream::Call(std::function<void()> function) {
  MutexLock lock(&mutex_);
  Push({.kind = Work::Kind::kCall, .function = std::move(function)});
}

void HostStream::ReleaseHeldCopies() {
  MutexLock lock(&mutex_);
  run_until_ = num_queued_;
  changed_.NotifyAll();
}

void HostStream::FinishHeldCopies() {
  MutexLock lock(&mutex_);
  while (num_done_ < run_until_) changed_.Wait(&mutex_);
}

absl::Status HostStream::Finish() {
  MutexLock lock(&mutex_);
  while (num_done_ < num_queued_) changed_.Wait(&mutex_);
  return DeepCopy(failure_);
}

void HostStream::Drain() {
  MutexLock lock(&mutex_);
  while (num_done_ < num_queued_) changed_.Wait(&mutex_);
  failure_ = absl::OkStatus();
}

bool HostStream::failed() const {
  MutexLock lock(&mutex_);
  return !failure_.ok();
}

int HostStream::max_queued_copies() const {
  MutexLock lock(&mutex_);
  return max_queued_copies_;
}

void HostStream::Push(Work work) {
  const int64_t in_queue = num_queued_ - num_done_;
  if (in_queue == static_cast<int64_t>(ring_.size())) {
    std::vector<Work> larger(2 * ring_.size());
    for (int64_t i = num_done_; i < num_queued_; ++i) {
      larger[i % larger.size()] = std::move(ring_[i % ring_.size()]);
    }
    ring_ = std::move(larger);
  }
  if (work.kind == Work::Kind::kCopy) {
    max_queued_copies_ = std::max(max_queued_copies_, ++queued_copies_);
  }
  ring_[num_queued_ % ring_.size()] = std::move(work);
  ++num_queued_;
  changed_.NotifyAll();
}

bool HostStream::MayRunNext() const {
  if (num_done_ == num_queued_) return false;
  if (!options_.hold_copies || closed_ || num_done_ < run_until_) return true;
  return ring_[num_done_ % ring_.size()].kind != Work::Kind::kCopy;
}

void HostStream::RunUntilClosed() {
  while (true) {
    Work work;
    {
      MutexLock lock(&mutex_);
      while (!MayRunNext()) {
        if (closed_ && num_done_ == num_queued_) return;
        changed_.Wait(&mutex_);
      }
      work = std::move(ring_[num_done_ % ring_.size()]);
    }
    const absl::Status outcome = Run(work);
    if (work.kind == Work::Kind::kRecord) {
      static_cast<HostEvent*>(work.event.handle())->End(DeepCopy(outcome));
    }
    // Whoever sees the queue empty must not find the event still held, nor what a function holds.
    work = {.kind = work.kind};
    MutexLock lock(&mutex_);
    ++num_done_;
    if (work.kind == Work::Kind::kCopy) --queued_copies_;
    if (failure_.ok()) failure_ = DeepCopy(outcome);
    changed_.NotifyAll();
  }
}

// The outcome of the work; for a record, how the stream fared before it.
absl::Status HostStream::Run(Work& work) {
  switch (work.kind) {
    case Work::Kind::kCopy:
      return RunCopy(work.copy);
    case Work::Kind::kWait:
      // Failed work elsewhere fails this stream too.
      return static_cast<HostEvent*>(work.event.handle())->Wait();
    case Work::Kind::kCall:
      Dawdle();
      if (!failed()) work.function();
      return absl::OkStatus();
    case Work::Kind::kRecord:
      break;
  }
  MutexLock lock(&mutex_);
  return DeepCopy(failure_);
}

absl::Status HostStream::RunCopy(const HostToDeviceCopy& copy) {
  Dawdle();
  const absl::Status failure = options_.before_copy(copy);
  // In two halves: a source that is overwritten meanwhile arrives torn, as it would from a card.
  const int64_t half = copy.bytes / 2;
  std::memcpy(copy.destination, copy.source, half);
  if (!failure.ok()) return failure;
  Dawdle();
  std::memcpy(copy.destination + half, copy.source + half, copy.bytes - half);
  if (options_.after_copy) options_.after_copy(copy);
  if (options_.bytes_per_second > 0) {
    std::this_thread::sleep_for(
        std::chrono::duration<double>(copy.bytes / options_.bytes_per_second));
  }
  return absl::OkStatus();
}

void HostStream::Dawdle() {
  if (options_.max_delay_yields == 0) return;
  const int num_yields = std::uniform_int_distribution<int>(0, options_.max_delay_yields)(random_);
  for (int i = 0; i < num_yields; ++i) std::this_thread::yield();
}

}  // namespace strata
