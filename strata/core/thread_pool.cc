#include "strata/core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "glog/logging.h"
#include "strata/core/mutex.h"

namespace strata {
namespace {

// state_: bits 0 to 15 count the workers inside, bit 16 says open, the rest numbers the loop. A
// worker enters by raising the count of an open loop, so closing and counting are one variable.
constexpr uint64_t kCountMask = 0xffff;
constexpr uint64_t kOpen = 1 << 16;
constexpr uint64_t kLoopUnit = 1 << 17;

// Loops follow one another within microseconds while a model runs, and waking a thread takes tens
// of them: look for a while before sleeping. Past the first looks the core is offered to others,
// since there may be fewer cores than threads; not sooner, since the offer is a system call and a
// small model's loops are over in less.
constexpr int kLooks = 800;
constexpr int kLooksBeforeYield = 500;

// True when `done` came true within the looks.
template <typename Done>
bool LookFor(Done done) {
  for (int look = 0; look < kLooks; ++look) {
    if (done()) return true;
    if (look < kLooksBeforeYield) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else {
      std::this_thread::yield();
    }
  }
  return false;
}

}  // namespace

ThreadPool::ThreadPool() = default;

ThreadPool::ThreadPool(int num_threads) : ThreadPool() {
  CHECK(num_threads >= 1 && num_threads <= static_cast<int>(kCountMask)) << num_threads;
  for (int worker = 1; worker < num_threads; ++worker) {
    workers_.emplace_back([this, worker] { WorkerMain(worker); });
  }
}

ThreadPool::~ThreadPool() {
  ending_.store(true);
  {
    MutexLock lock(&mutex_);
    loop_opened_.NotifyAll();
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::ParallelFor(int64_t num_items, int64_t grain, Body body) {
  CHECK_GE(grain, 1);
  if (num_items <= 0) return;
  if (workers_.empty() || num_items <= grain) {
    body({.begin = 0, .end = num_items, .worker = 0});
    return;
  }
  loop_ = {.body = &body, .num_items = num_items, .grain = grain};
  next_piece_.store(0, std::memory_order_relaxed);
  const uint64_t state = state_.load(std::memory_order_relaxed);
  CHECK((state & (kOpen | kCountMask)) == 0) << "ParallelFor inside a ParallelFor";
  // Sequentially consistent with num_asleep_: a worker that goes to sleep sees the loop, or is
  // seen.
  state_.store(state + kLoopUnit + kOpen);
  if (num_asleep_.load() > 0) {
    MutexLock lock(&mutex_);
    loop_opened_.NotifyAll();
  }
  RunPieces(0);
  state_.fetch_and(~kOpen);
  WaitUntilEmpty();
}

// Pieces are numbered, and come in rounds of as many as there are threads. A round is half of what
// is left: large pieces first, since taking one costs, small ones last, so that all end together;
// and threads that are equally fast take equally much.
void ThreadPool::RunPieces(int worker) {
  const int64_t threads = num_threads();
  const auto size_of_round = [&](int64_t begin) {
    return std::max(loop_.grain, (loop_.num_items - begin + 2 * threads - 1) / (2 * threads));
  };
  int64_t first_piece = 0;  // Of the round,
  int64_t round_begin = 0;
  int64_t size = size_of_round(0);  // and of each of its pieces.
  while (true) {
    const int64_t piece = next_piece_.fetch_add(1, std::memory_order_relaxed);
    while (piece >= first_piece + threads && round_begin < loop_.num_items) {
      first_piece += threads;
      round_begin += threads * size;
      size = size_of_round(round_begin);
    }
    const int64_t begin = round_begin + (piece - first_piece) * size;
    if (begin >= loop_.num_items) return;
    (*loop_.body)(
        {.begin = begin, .end = std::min(begin + size, loop_.num_items), .worker = worker});
  }
}

void ThreadPool::WorkerMain(int worker) {
  uint64_t last_loop = 0;
  while (EnterNextLoop(&last_loop)) {
    RunPieces(worker);
    Leave();
  }
}

bool ThreadPool::TryEnter(uint64_t* last_loop) {
  uint64_t state = state_.load();
  while ((state & kOpen) != 0 && state / kLoopUnit != *last_loop) {
    if (state_.compare_exchange_weak(state, state + 1)) {
      *last_loop = state / kLoopUnit;
      return true;
    }
  }
  return false;
}

bool ThreadPool::EnterNextLoop(uint64_t* last_loop) {
  bool entered = false;
  const auto entered_or_ending = [&] {
    entered = TryEnter(last_loop);
    return entered || ending_.load();
  };
  if (LookFor(entered_or_ending)) return entered;
  MutexLock lock(&mutex_);
  num_asleep_.fetch_add(1);
  while (!entered_or_ending()) loop_opened_.Wait(&mutex_);
  num_asleep_.fetch_sub(1);
  return entered;
}

void ThreadPool::Leave() {
  const uint64_t before = state_.fetch_sub(1);
  if ((before & kCountMask) != 1 || !caller_asleep_.load()) return;
  MutexLock lock(&mutex_);
  loop_empty_.NotifyOne();
}

void ThreadPool::WaitUntilEmpty() {
  const auto empty = [&] { return (state_.load() & kCountMask) == 0; };
  if (LookFor(empty)) return;
  MutexLock lock(&mutex_);
  caller_asleep_.store(true);
  while (!empty()) loop_empty_.Wait(&mutex_);
  caller_asleep_.store(false);
}

}  // namespace strata
