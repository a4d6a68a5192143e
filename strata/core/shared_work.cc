#include "strata/core/shared_work.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "strata/core/mutex.h"
#include "strata/core/refusal.h"
#include "strata/core/status_copy.h"

namespace strata {

SharedWork::SharedWork(int num_threads)
    : threads_(num_threads, [this](int worker) { WorkOn(worker); }) {}

absl::Status SharedWork::Run(int64_t num_items, Work work) {
  work_ = &work;
  num_items_ = num_items;
  next_ = 0;
  failed_ = false;
  if (num_items > 0) {
    threads_.Start(static_cast<int>(std::min<int64_t>(num_items, num_threads())));
    threads_.Wait();
  }
  MutexLock lock(&mutex_);
  return std::exchange(failure_, absl::OkStatus());
}

void SharedWork::WorkOn(int worker) {
  while (!failed_) {
    const int64_t item = next_++;
    if (item >= num_items_) return;
    const absl::Status done = CatchRefusal([&] { return (*work_)(worker, item); });
    if (done.ok()) continue;
    MutexLock lock(&mutex_);
    if (failure_.ok()) failure_ = DeepCopy(done);
    failed_ = true;
  }
}

}  // namespace strata
