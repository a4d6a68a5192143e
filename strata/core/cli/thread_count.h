// How many threads a program computes with, from its flag --threads.
#ifndef STRATA_CORE_CLI_THREAD_COUNT_H_
#define STRATA_CORE_CLI_THREAD_COUNT_H_

#include "absl/status/statusor.h"

namespace strata {

inline constexpr int kMaxThreads = 1024;

// `flag` is not negative; 0: one for each CPU that this process may use, by its affinity and by the
// whole CPUs of its quota (cpu_quota.h). A UsageError above kMaxThreads.
absl::StatusOr<int> ThreadCount(int flag);

}  // namespace strata

#endif  // STRATA_CORE_CLI_THREAD_COUNT_H_
