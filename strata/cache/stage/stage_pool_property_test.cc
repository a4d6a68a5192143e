// Random schedules of acquire, fill, copy and drop against a device whose copies are slow, overtake
// each other and fail. Whatever happens, each copy must arrive with the bytes its stage was filled
// with. Pools that free stages by anything but events are here as well, and must be caught.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/device.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/mutex.h"
#include "strata/core/pin_budget.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using Call = HostDeviceFaults::Call;

constexpr int64_t kStageBytes = 128;
constexpr int kNumStages = 4;

// The bytes of transfer `number`: no two transfers share any 8 of them.
void WritePattern(int64_t number, std::byte* bytes) {
  for (int64_t i = 0; i < kStageBytes; i += 8) {
    const uint64_t word = number * kStageBytes + i;
    std::memcpy(bytes + i, &word, 8);
  }
}

bool HasPattern(int64_t number, const std::byte* bytes) {
  std::byte expected[kStageBytes];
  WritePattern(number, expected);
  return std::memcmp(bytes, expected, kStageBytes) == 0;
}

// --- Random schedules ---

// A stream that several threads use: a copy and its record stay together, and a drain between them
// cannot hide the copy's failure.
struct SharedStream {
  DeviceStream stream;
  Mutex mutex;
};

class Schedule {
 public:
  Schedule(HostDevice& device, StagePool& pool, int64_t num_transfers)
      : device_(device),
        pool_(pool),
        slots_(std::move(device.Allocate(num_transfers * kStageBytes)).value()) {
    for (SharedStream& shared : streams_) shared.stream = *device.CreateStream();
  }

  // Transfers `first` to `last` - 1 in random steps; returns the number of steps.
  int64_t Run(int64_t first, int64_t last, uint64_t seed) {
    std::mt19937_64 random(seed);
    int64_t num_steps = 0;
    std::vector<int64_t> todo;
    for (int64_t n = first; n < last; ++n) todo.push_back(n);
    std::vector<std::pair<int64_t, DeviceEvent>> started;
    while (!todo.empty() || !started.empty()) {
      const bool start = !todo.empty() && (started.size() < 8 || random() % 2 == 0);
      if (start) {
        const int64_t number = todo.back();
        todo.pop_back();
        const auto [steps, event] = Transfer(number, random);
        num_steps += steps;
        if (event.empty()) {
          todo.push_back(number);
        } else {
          started.emplace_back(number, event);
        }
      } else {
        // An error of the device may hide an end, so ask the event again until it has ended.
        const auto [number, event] = started.back();
        started.pop_back();
        device_.Drain(event);
        device_.ClearError();
        if (const absl::Status outcome = device_.Wait(event); !outcome.ok()) {
          todo.push_back(number);
          Recover();
        }
        ++num_steps;
      }
    }
    return num_steps;
  }

  int64_t NumWrong(int64_t num_transfers) const {
    int64_t wrong = 0;
    for (int64_t n = 0; n < num_transfers; ++n) {
      if (!HasPattern(n, slots_.data() + n * kStageBytes)) ++wrong;
    }
    return wrong;
  }

 private:
  struct Outcome {
    int64_t num_steps;
    DeviceEvent event;  // Empty when the transfer was not started.
  };

  Outcome Transfer(int64_t number, std::mt19937_64& random) {
    std::optional<StagePool::Stage> stage = Acquire(random);
    if (!stage.has_value()) return {1, {}};
    WritePattern(number, stage->data());
    if (random() % 16 == 0) return {3, {}};  // Dropped while filling.
    stage->MarkReady();
    if (random() % 16 == 0) return {4, {}};  // Dropped when ready.
    DeviceEvent event = Copy(number, *stage, random);
    // Sometimes the lease ends long after its copy.
    for (int i = random() % 8 == 0 ? 5 : 0; i > 0; --i) std::this_thread::yield();
    return {5, std::move(event)};
  }

  std::optional<StagePool::Stage> Acquire(std::mt19937_64& random) {
    if (random() % 4 == 0) return pool_.TryAcquire();
    absl::StatusOr<StagePool::Stage> stage = pool_.Acquire();
    if (stage.ok()) return *std::move(stage);
    Recover();
    return std::nullopt;
  }

  DeviceEvent Copy(int64_t number, StagePool::Stage& stage, std::mt19937_64& random) {
    SharedStream& shared = streams_[random() % std::size(streams_)];
    MutexLock lock(&shared.mutex);
    const HostToDeviceCopy copy = {slots_.data() + number * kStageBytes, stage.data(), kStageBytes};
    const absl::Status copied =
        random() % 2 == 0 ? device_.CopyToDevice(copy.destination, stage.bytes(), shared.stream)
                          : CopyAsBatch(copy, stage, shared.stream);
    if (copied.ok()) {
      absl::StatusOr<DeviceEvent> event = device_.Record(shared.stream);
      if (event.ok()) {
        stage.ReleaseAfter(*event);
        return *std::move(event);
      }
    }
    // Nothing says when the copy will have ended: wait for it before the lease may end.
    device_.Drain(shared.stream);
    device_.ClearError();
    return {};
  }

  absl::Status CopyAsBatch(const HostToDeviceCopy& copy, const StagePool::Stage& stage,
                           const DeviceStream& stream) {
    if (!stage.pinned()) return device_.CopyToDevice(copy.destination, stage.bytes(), stream);
    return device_.CopyBatchToDevice({&copy, 1}, stream);
  }

  // After a failure: all streams are as good as new.
  void Recover() {
    for (SharedStream& shared : streams_) {
      MutexLock lock(&shared.mutex);
      device_.Drain(shared.stream);
    }
    device_.ClearError();
  }

  HostDevice& device_;
  StagePool& pool_;
  DeviceMemory slots_;
  SharedStream streams_[3];
};

struct Weather {
  const char* name;
  HostDevice::Options device;
  double fault_probability;
};

TEST(StagePoolPropertyTest, EveryCopyArrivesWholeWhateverTheScheduleAndTheFaults) {
  constexpr int kNumThreads = 3;
  const uint64_t seed = TestSeed();
  const int64_t wanted_steps = TestSteps(210000);
  const Weather weathers[] = {
      {"calm", {}, 0},
      {"slow and overtaking", {.max_delay_yields = 6, .shuffle_batches = true}, 0},
      {"overtaking and failing", {.max_delay_yields = 4, .shuffle_batches = true}, 0.01},
      {"pageable stages", {.max_delay_yields = 2, .pin_limit_bytes = 0}, 0.005},
  };
  std::atomic<int64_t> num_steps = 0;
  for (int round = 0; num_steps < wanted_steps; ++round) {
    Weather weather = weathers[round % std::size(weathers)];
    SCOPED_TRACE(weather.name);
    weather.device.seed = seed + round;
    HostDevice device(weather.device);
    PinBudget budget(int64_t{1} << 40, "a test");
    HostMemory memory(device, budget);
    const auto pool =
        std::move(StagePool::Create({.stage_bytes = kStageBytes, .num_stages = kNumStages}, memory))
            .value();
    constexpr int64_t kPerThread = 1500;
    constexpr int64_t kNumTransfers = kNumThreads * kPerThread;
    Schedule schedule(device, *pool, kNumTransfers);
    for (const Call call : {Call::kCopy, Call::kRunCopy, Call::kRecord}) {
      device.faults().FailRandomly(call, weather.fault_probability, seed + round);
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < kNumThreads; ++i) {
      threads.emplace_back([&, i] {
        num_steps +=
            schedule.Run(i * kPerThread, (i + 1) * kPerThread, seed + round * kNumThreads + i);
      });
    }
    for (std::thread& thread : threads) thread.join();
    device.faults().Heal();
    ASSERT_EQ(schedule.NumWrong(kNumTransfers), 0) << "seed " << seed << ", round " << round;
    EXPECT_EQ(pool->num_free(), pool->num_stages());
  }
  std::cout << num_steps << " steps" << std::endl;
}

// --- Pools that must be caught ---

// A pool that frees stages by the rule of a subclass; it has the shape that FillAndCopy needs.
class BrokenPool {
 public:
  explicit BrokenPool(HostMemory& memory)
      : slab_(std::move(memory.Allocate({.purpose = "broken pool",
                                         .unit_bytes = kStageBytes,
                                         .num_units = kNumStages}))
                  .value()) {
    for (int i = 0; i < kNumStages; ++i) free_.push_back(i);
  }
  virtual ~BrokenPool() = default;

  class Stage {
   public:
    Stage(BrokenPool& pool, int index) : pool_(pool), index_(index) {}
    ~Stage() { pool_.LeaseEnds(index_); }
    absl::Span<std::byte> bytes() const {
      return pool_.slab_.bytes().subspan(index_ * kStageBytes, kStageBytes);
    }
    void MarkReady() {}
    void ReleaseAfter(const DeviceEvent&) { pool_.CopyCallReturns(index_); }

   private:
    BrokenPool& pool_;
    const int index_;
  };

  virtual std::unique_ptr<Stage> TryAcquire() {
    if (free_.empty()) return nullptr;
    const int index = free_.back();
    free_.pop_back();
    return std::make_unique<Stage>(*this, index);
  }

 protected:
  virtual void LeaseEnds(int index) = 0;
  virtual void CopyCallReturns(int index) = 0;
  void Free(int index) { free_.push_back(index); }

 private:
  HostBuffer slab_;
  std::vector<int> free_;
};

// What a known engine did: a stage is taken again after as many later claims as there are stages.
class PoolThatRecyclesByAge : public BrokenPool {
 public:
  using BrokenPool::BrokenPool;
  std::unique_ptr<Stage> TryAcquire() override {
    return std::make_unique<Stage>(*this, static_cast<int>(num_claims_++ % kNumStages));
  }
  void LeaseEnds(int) override {}
  void CopyCallReturns(int) override {}

 private:
  int64_t num_claims_ = 0;
};

class PoolThatFreesAtTheEndOfTheLease : public BrokenPool {
 public:
  using BrokenPool::BrokenPool;
  void LeaseEnds(int index) override { Free(index); }
  void CopyCallReturns(int) override {}
};

class PoolThatFreesWhenTheCallReturns : public BrokenPool {
 public:
  using BrokenPool::BrokenPool;
  void LeaseEnds(int) override {}
  void CopyCallReturns(int index) override { Free(index); }
};

// Fills and copies three times as many stages as there are, against copies that run only when no
// stage is free any more; counts the copies that arrived wrong.
template <typename Pool>
int NumWrongCopies(Pool& pool, HostDevice& device) {
  constexpr int kNumCopies = 3 * kNumStages;
  const DeviceStream stream = *device.CreateStream();
  const DeviceMemory slots = *device.Allocate(kNumCopies * kStageBytes);
  for (int i = 0; i < kNumCopies; ++i) {
    auto stage = pool.TryAcquire();
    if (!stage) {
      device.RunHeldCopies();
      stage = pool.TryAcquire();
    }
    CHECK(stage);
    WritePattern(i, stage->bytes().data());
    stage->MarkReady();
    CHECK(device.CopyToDevice(slots.data() + i * kStageBytes, stage->bytes(), stream).ok());
    stage->ReleaseAfter(*device.Record(stream));
  }
  device.RunHeldCopies();
  int num_wrong = 0;
  for (int i = 0; i < kNumCopies; ++i) {
    if (!HasPattern(i, slots.data() + i * kStageBytes)) ++num_wrong;
  }
  return num_wrong;
}

class RecyclingTest : public ::testing::Test {
 protected:
  template <typename Pool>
  int NumWrong() {
    Pool pool(memory_);
    return NumWrongCopies(pool, device_);
  }

  PinBudget budget_{int64_t{1} << 40, "a test"};
  HostDevice device_{{.copies = HostDevice::kHeld}};
  HostMemory memory_{device_, budget_};
};

TEST_F(RecyclingTest, StagePoolNeverOverwritesAStageThatACopyStillReads) {
  const auto pool =
      std::move(StagePool::Create({.stage_bytes = kStageBytes, .num_stages = kNumStages}, memory_))
          .value();
  EXPECT_EQ(NumWrongCopies(*pool, device_), 0);
}

TEST_F(RecyclingTest, CatchesAPoolThatRecyclesByAge) {
  EXPECT_EQ(NumWrong<PoolThatRecyclesByAge>(), 2 * kNumStages);
}

TEST_F(RecyclingTest, CatchesAPoolThatFreesAtTheEndOfTheLease) {
  EXPECT_EQ(NumWrong<PoolThatFreesAtTheEndOfTheLease>(), 3 * kNumStages - 1);
}

TEST_F(RecyclingTest, CatchesAPoolThatFreesWhenTheCallReturns) {
  EXPECT_EQ(NumWrong<PoolThatFreesWhenTheCallReturns>(), 3 * kNumStages - 1);
}

}  // namespace
}  // namespace strata
