#include "strata/cache/stage/stage_pool.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/core/device.h"
#include "strata/core/host_memory.h"
#include "strata/core/mutex.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

namespace strata {
namespace {

// How often a waiting thread asks whether copies have ended. A blob takes about 30 us on the link,
// and a whole pool of them is in flight when somebody waits.
constexpr std::chrono::microseconds kPollInterval(20);

// Asking after a copy costs about as much as issuing one. The copies that were started first are
// the first to end, but for those of other streams: a look at the eldest usually finds a stage.
constexpr int kLikelyToHaveEnded = 2;

// More copies of one stage than this are rare; beyond it the list of its events grows.
constexpr int kUsualEventsPerStage = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<StagePool>> StagePool::Create(const Options& options,
                                                             HostMemory& memory) {
  if (options.stage_bytes <= 0 || options.min_stages <= 0 ||
      options.num_stages < options.min_stages) {
    return absl::InvalidArgumentError(absl::StrCat("a pool of ", options.num_stages,
                                                   " stages (at least ", options.min_stages,
                                                   ") of ", options.stage_bytes, " bytes"));
  }
  ASSIGN_OR_RETURN(HostBuffer slab, memory.Allocate({.purpose = "stage pool",
                                                     .unit_bytes = options.stage_bytes,
                                                     .num_units = options.num_stages,
                                                     .min_units = options.min_stages}));
  return std::unique_ptr<StagePool>(
      new StagePool(options.stage_bytes, std::move(slab), memory.device()));
}

StagePool::StagePool(int64_t stage_bytes, HostBuffer slab, Device& device)
    : stage_bytes_(stage_bytes),
      slab_(std::move(slab)),
      device_(device),
      slots_(slab_.size() / stage_bytes) {
  for (int i = num_stages() - 1; i >= 0; --i) {
    free_.push_back(i);
    slots_[i].events.reserve(kUsualEventsPerStage);
  }
  in_flight_.reserve(slots_.size());
}

StagePool::~StagePool() {
  MutexLock lock(&mutex_);
  for (const Slot& slot : slots_) {
    CHECK(!slot.leased) << "a lease outlives its stage pool";
    for (const DeviceEvent& event : slot.events) device_.Drain(event);
  }
}

std::optional<StagePool::Stage> StagePool::TryAcquire() {
  MutexLock lock(&mutex_);
  // Which copies have ended may be unknown for now: then their stages are not free.
  if (free_.empty()) CollectEnded(num_stages()).IgnoreError();
  if (free_.empty()) {
    ++counters_.exhausted;
    return std::nullopt;
  }
  return Lease();
}

absl::StatusOr<StagePool::Stage> StagePool::Acquire() {
  MutexLock lock(&mutex_);
  if (free_.empty()) RETURN_IF_ERROR(CollectEnded(kLikelyToHaveEnded));
  if (free_.empty()) {
    const Stopwatch stopwatch;
    const absl::Status waited = WaitForFree();
    if (!waited.ok()) changed_.NotifyAll();  // Somebody else must watch the copies now.
    ++counters_.waits;
    counters_.wait_us += stopwatch.ns() / 1000;
    if (!waited.ok()) {
      ++counters_.exhausted;
      return waited;
    }
  }
  return Lease();
}

// One waiting thread watches the copies in flight; the others sleep until a stage is free, so that
// the driver is not asked the same question by all of them.
absl::Status StagePool::WaitForFree() {
  while (free_.empty()) {
    if (in_flight_.empty() || somebody_watches_) {
      changed_.Wait(&mutex_);
      continue;
    }
    somebody_watches_ = true;
    changed_.WaitUntil(&mutex_, std::chrono::steady_clock::now() + kPollInterval);
    somebody_watches_ = false;
    if (free_.empty()) RETURN_IF_ERROR(CollectEnded(kLikelyToHaveEnded));
    if (free_.empty()) RETURN_IF_ERROR(CollectEnded(num_stages()));
  }
  return absl::OkStatus();
}

absl::Status StagePool::CollectEnded(int max_running) {
  const size_t free_before = free_.size();
  absl::Status unknown;
  auto kept = in_flight_.begin();
  auto next = in_flight_.begin();
  for (; next != in_flight_.end() && max_running > 0; ++next) {
    Slot& slot = slots_[*next];
    const absl::StatusOr<bool> ended = HaveEnded(slot.events);
    if (!ended.ok()) unknown = ended.status();
    if (ended.ok() && *ended) {
      slot.state = State::kFree;
      free_.push_back(*next);
    } else {
      *kept++ = *next;
      --max_running;
    }
  }
  in_flight_.erase(kept, next);
  if (free_.size() == free_before) return unknown;
  changed_.NotifyAll();
  return absl::OkStatus();
}

// Drops the events that have ended.
absl::StatusOr<bool> StagePool::HaveEnded(std::vector<DeviceEvent>& events) const {
  while (!events.empty()) {
    ASSIGN_OR_RETURN(const bool ended, device_.HasEnded(events.back()));
    if (!ended) return false;
    events.pop_back();
  }
  return true;
}

StagePool::Stage StagePool::Lease() {
  const int index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  CHECK(slot.state == State::kFree && slot.events.empty());
  ++counters_.acquired;
  if (std::exchange(slot.used_before, true)) ++counters_.reused;
  slot.state = State::kFilling;
  slot.leased = true;
  return Stage(this, index);
}

int StagePool::CountIn(State state) {
  MutexLock lock(&mutex_);
  CollectEnded(num_stages()).IgnoreError();
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(),
                                        [&](const Slot& slot) { return slot.state == state; }));
}

StagePool::Counters StagePool::counters() const {
  MutexLock lock(&mutex_);
  return counters_;
}

void StagePool::MarkReady(int index) {
  MutexLock lock(&mutex_);
  CHECK(slots_[index].state == State::kFilling) << "a stage was made ready twice";
  slots_[index].state = State::kReady;
}

void StagePool::ReleaseAfter(int index, DeviceEvent event) {
  MutexLock lock(&mutex_);
  Slot& slot = slots_[index];
  CHECK(slot.state == State::kReady || slot.state == State::kInFlight)
      << "a copy reads a stage that is not ready";
  slot.state = State::kInFlight;
  slot.events.push_back(std::move(event));
}

void StagePool::EndLease(int index) {
  MutexLock lock(&mutex_);
  Slot& slot = slots_[index];
  slot.leased = false;
  if (slot.state == State::kInFlight) {
    in_flight_.push_back(index);
  } else {
    slot.state = State::kFree;
    free_.push_back(index);
  }
  // A waiting thread may take the stage, or has copies to watch now.
  changed_.NotifyAll();
}

}  // namespace strata
