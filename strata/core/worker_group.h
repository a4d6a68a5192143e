// Threads that run one function together, again and again: starting a round costs no thread and no
// allocation.
//
// Used by one thread at a time.
#ifndef STRATA_CORE_WORKER_GROUP_H_
#define STRATA_CORE_WORKER_GROUP_H_

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "strata/core/mutex.h"

namespace strata {

class WorkerGroup {
 public:
  // A round calls `work` once on each of its threads, with the thread's number from 0.
  WorkerGroup(int num_workers, std::function<void(int worker)> work);
  // Waits for the round.
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  int num_workers() const { return static_cast<int>(threads_.size()); }

  // Starts a round on all threads, or on the first few; the one before has ended. The others sleep
  // on: a thread that wakes to find nothing takes a core from one that computes.
  void Start() { Start(num_workers()); }
  void Start(int num_workers) ABSL_LOCKS_EXCLUDED(mutex_);
  bool running() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until the round has ended.
  void Wait() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Without threads. When one of them cannot be started, the destructor ends those that were.
  explicit WorkerGroup(std::function<void(int worker)> work);
  void RunRounds(int worker) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::function<void(int)> work_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<CondVar>> wakes_;  // By worker.
  CondVar round_ended_;
  std::vector<bool> is_due_ ABSL_GUARDED_BY(mutex_);  // By worker: the round is still to be begun.
  int num_running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace strata

#endif  // STRATA_CORE_WORKER_GROUP_H_
