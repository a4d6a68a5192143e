#include "strata/core/cli/thread_count.h"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "strata/core/cli/cpu_quota.h"
#include "strata/core/error.h"

namespace strata {
namespace {

int NumUsableCpus() {
  cpu_set_t cpus;
  const bool is_known = sched_getaffinity(0, sizeof(cpus), &cpus) == 0;
  const int allowed =
      is_known ? CPU_COUNT(&cpus) : static_cast<int>(std::thread::hardware_concurrency());
  // More threads than the quota would be stopped together, in the middle of what others wait for.
  const std::optional<double> quota = CpuQuota();
  return quota.has_value() ? static_cast<int>(std::min<double>(allowed, *quota)) : allowed;
}

}  // namespace

absl::StatusOr<int> ThreadCount(int flag) {
  if (flag > kMaxThreads) {
    return UsageError(absl::StrCat("--threads is more than ", kMaxThreads));
  }
  return flag > 0 ? flag : std::clamp(NumUsableCpus(), 1, kMaxThreads);
}

}  // namespace strata
