// Threads that go through a list together: each takes the next item until all are done or one has
// failed.
//
// Used by one thread at a time; a run allocates nothing.
#ifndef STRATA_CORE_SHARED_WORK_H_
#define STRATA_CORE_SHARED_WORK_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "strata/core/mutex.h"
#include "strata/core/worker_group.h"

namespace strata {

class SharedWork {
 public:
  // Of one item, on thread `worker`, which does nothing else at the time.
  using Work = absl::FunctionRef<absl::Status(int worker, int64_t item)>;

  explicit SharedWork(int num_threads);

  int num_threads() const { return threads_.num_workers(); }

  // Blocks until no thread works any more. Items 0 to num_items - 1 are taken in this order; the
  // status of one that failed, after which no further item is begun. Memory or threads that `work`
  // is refused are such a failure.
  absl::Status Run(int64_t num_items, Work work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void WorkOn(int worker) ABSL_LOCKS_EXCLUDED(mutex_);

  // The run. Set while the threads rest.
  const Work* work_ = nullptr;
  int64_t num_items_ = 0;
  std::atomic<int64_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);

  WorkerGroup threads_;  // Last: it uses all of the above.
};

}  // namespace strata

#endif  // STRATA_CORE_SHARED_WORK_H_
