// How much CPU time the cgroups of this process let it use: what containers are limited by, and what
// no count of CPUs shows.
#ifndef STRATA_CORE_CLI_CPU_QUOTA_H_
#define STRATA_CORE_CLI_CPU_QUOTA_H_

#include <optional>
#include <string>

namespace strata {

// In CPUs: 1.5 is one and a half at any time. The least of the cgroup and those around it, in
// version 2 and version 1 of their files; empty without a limit. `root` is what /proc and /sys lie in,
// for tests.
std::optional<double> CpuQuota(const std::string& root = "/");

}  // namespace strata

#endif  // STRATA_CORE_CLI_CPU_QUOTA_H_
