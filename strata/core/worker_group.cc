#include "strata/core/worker_group.h"

#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "glog/logging.h"
#include "strata/core/mutex.h"

namespace strata {

WorkerGroup::WorkerGroup(std::function<void(int worker)> work) : work_(std::move(work)) {}

WorkerGroup::WorkerGroup(int num_workers, std::function<void(int worker)> work)
    : WorkerGroup(std::move(work)) {
  CHECK_GT(num_workers, 0);
  for (int i = 0; i < num_workers; ++i) threads_.emplace_back([this, i] { RunRounds(i); });
}

WorkerGroup::~WorkerGroup() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerGroup::Start() {
  MutexLock lock(&mutex_);
  CHECK_EQ(num_running_, 0) << "a round is still running";
  num_running_ = num_workers();
  ++round_;
  changed_.NotifyAll();
}

bool WorkerGroup::running() const {
  MutexLock lock(&mutex_);
  return num_running_ > 0;
}

void WorkerGroup::Wait() {
  MutexLock lock(&mutex_);
  while (num_running_ > 0) changed_.Wait(&mutex_);
}

void WorkerGroup::RunRounds(int worker) {
  int64_t rounds_done = 0;
  while (true) {
    {
      MutexLock lock(&mutex_);
      while (round_ == rounds_done && !closed_) changed_.Wait(&mutex_);
      if (round_ == rounds_done) return;
      ++rounds_done;
    }
    work_(worker);
    MutexLock lock(&mutex_);
    if (--num_running_ == 0) changed_.NotifyAll();
  }
}

}  // namespace strata
