#include "strata/core/cli/thread_count.h"

#include <algorithm>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "strata/core/error.h"

namespace strata {

absl::StatusOr<int> ThreadCount(int flag) {
  if (flag > kMaxThreads) {
    return UsageError(absl::StrCat("--threads is more than ", kMaxThreads));
  }
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  return flag > 0 ? flag : std::clamp(cpus, 1, kMaxThreads);
}

}  // namespace strata
