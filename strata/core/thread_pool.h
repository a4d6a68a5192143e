// Threads that live as long as the pool and share loops among them.
//
// The thread that calls ParallelFor works too, so a pool of one has no thread of its own and a pool
// of n starts n - 1. A worker that is late (asleep, or not on a core) is not waited for: who is
// there takes the next piece, and the loop ends with its last piece. Which thread runs which piece
// is left open; results must not depend on it.
//
// Used by one thread at a time. A body must not call ParallelFor of the same pool.
#ifndef STRATA_CORE_THREAD_POOL_H_
#define STRATA_CORE_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "strata/core/mutex.h"

namespace strata {

class ThreadPool {
 public:
  // One piece of a loop: the items [begin, end), on thread `worker` of num_threads(), which no
  // other piece uses at the same time.
  struct Piece {
    int64_t begin = 0;
    int64_t end = 0;
    int worker = 0;
  };
  using Body = absl::FunctionRef<void(const Piece&)>;

  // `num_threads` counts the calling thread and is at least 1.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Runs `body` on pieces that together are [0, num_items), each of at least `grain` items but the
  // last, and returns when all have run. What the bodies wrote is then visible to the caller.
  void ParallelFor(int64_t num_items, int64_t grain, Body body) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The loop that runs. Written while no worker is in it.
  struct Loop {
    const Body* body = nullptr;
    int64_t num_items = 0;
    int64_t grain = 0;
  };

  // Without workers. When one of them cannot be started, the destructor ends those that were.
  ThreadPool();
  void WorkerMain(int worker) ABSL_LOCKS_EXCLUDED(mutex_);
  void RunPieces(int worker);
  // Enters the open loop if this worker has not been in it. False when there is none.
  bool TryEnter(uint64_t* last_loop);
  // Blocks until a loop is open or the pool ends; false for the latter.
  bool EnterNextLoop(uint64_t* last_loop) ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitUntilEmpty() ABSL_LOCKS_EXCLUDED(mutex_);

  Loop loop_;
  // Number of the loop, whether it is open, and how many workers are in it: see thread_pool.cc.
  std::atomic<uint64_t> state_{0};
  std::atomic<int64_t> next_piece_{0};
  std::atomic<int> num_asleep_{0};
  std::atomic<bool> caller_asleep_{false};
  std::atomic<bool> ending_{false};
  Mutex mutex_;  // Guards no data, only the way to sleep and back.
  CondVar loop_opened_;
  CondVar loop_empty_;
  std::vector<std::thread> workers_;
};

}  // namespace strata

#endif  // STRATA_CORE_THREAD_POOL_H_
