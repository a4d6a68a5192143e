// Threads that run one function together, again and again: starting a round costs no thread and no
// allocation.
//
// Used by one thread at a time.
#ifndef STRATA_CORE_WORKER_GROUP_H_
#define STRATA_CORE_WORKER_GROUP_H_

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "strata/core/mutex.h"

namespace strata {

class WorkerGroup {
 public:
  // Each round calls `work` once on every thread, with the thread's number from 0.
  WorkerGroup(int num_workers, std::function<void(int worker)> work);
  // Waits for the round.
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  int num_workers() const { return static_cast<int>(threads_.size()); }

  // Starts a round; the one before has ended.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_);
  bool running() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until the round has ended.
  void Wait() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Without threads. When one of them cannot be started, the destructor ends those that were.
  explicit WorkerGroup(std::function<void(int worker)> work);
  void RunRounds(int worker) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::function<void(int)> work_;
  mutable Mutex mutex_;
  CondVar changed_;
  int64_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace strata

#endif  // STRATA_CORE_WORKER_GROUP_H_
