#include "strata/core/worker_group.h"

#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "glog/logging.h"
#include "strata/core/mutex.h"

namespace strata {

WorkerGroup::WorkerGroup(std::function<void(int worker)> work) : work_(std::move(work)) {}

WorkerGroup::WorkerGroup(int num_workers, std::function<void(int worker)> work)
    : WorkerGroup(std::move(work)) {
  CHECK_GT(num_workers, 0);
  {
    MutexLock lock(&mutex_);
    is_due_.resize(num_workers, false);
  }
  for (int i = 0; i < num_workers; ++i) wakes_.push_back(std::make_unique<CondVar>());
  for (int i = 0; i < num_workers; ++i) threads_.emplace_back([this, i] { RunRounds(i); });
}

WorkerGroup::~WorkerGroup() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    for (const std::unique_ptr<CondVar>& wake : wakes_) wake->NotifyOne();
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerGroup::Start(int num_workers) {
  CHECK_GT(num_workers, 0);
  CHECK_LE(num_workers, this->num_workers());
  MutexLock lock(&mutex_);
  CHECK_EQ(num_running_, 0) << "a round is still running";
  num_running_ = num_workers;
  for (int i = 0; i < num_workers; ++i) {
    is_due_[i] = true;
    wakes_[i]->NotifyOne();
  }
}

bool WorkerGroup::running() const {
  MutexLock lock(&mutex_);
  return num_running_ > 0;
}

void WorkerGroup::Wait() {
  MutexLock lock(&mutex_);
  while (num_running_ > 0) round_ended_.Wait(&mutex_);
}

void WorkerGroup::RunRounds(int worker) {
  while (true) {
    {
      MutexLock lock(&mutex_);
      while (!is_due_[worker] && !closed_) wakes_[worker]->Wait(&mutex_);
      if (!is_due_[worker]) return;
      is_due_[worker] = false;
    }
    work_(worker);
    MutexLock lock(&mutex_);
    if (--num_running_ == 0) round_ended_.NotifyAll();
  }
}

}  // namespace strata
