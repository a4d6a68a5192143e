// What this machine lets a process pin: the lock limit, the memory limits of its control groups,
// and the memory that is available.
//
// Sources: getrlimit(2); /proc/meminfo and /proc/self/status (proc(5)); memory.max, memory.current
// and memory.stat of cgroup v2, memory.limit_in_bytes, memory.usage_in_bytes and memory.stat of
// cgroup v1, of the process's group and of every group above it.
#ifndef STRATA_CORE_PIN_LIMITS_H_
#define STRATA_CORE_PIN_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace strata {

// Each is empty when there is no such limit, or it cannot be read.
struct PinLimits {
  std::optional<int64_t> memlock_bytes = {};  // RLIMIT_MEMLOCK, the soft limit.
  // What the control groups leave: limit - usage + page cache, the least of all groups.
  std::optional<int64_t> cgroup_bytes = {};
  std::optional<int64_t> available_bytes = {};  // MemAvailable: page cache counts as available.
};

// Of RLIMIT_MEMLOCK as the system gives it: empty for no limit, and for one that no int64 holds.
std::optional<int64_t> LockLimit(uint64_t rlimit_bytes);

// `root` stands for "/" in every path.
PinLimits ReadPinLimits(const std::string& root = "");

struct DefaultPinBudget {
  int64_t bytes = 0;
  std::string origin;  // The limit that decided, in words.
};

// The least of the lock limit and three quarters of the others: the rest of the machine needs some
// memory that can move. The lock limit counts only where the driver charges pins to it.
DefaultPinBudget ChooseDefaultPinBudget(const PinLimits& limits, bool pins_count_as_locked);

// Bytes that the kernel holds against this process's lock limit now (VmLck and VmPin).
int64_t ReadLockedBytes(const std::string& root = "");

}  // namespace strata

#endif  // STRATA_CORE_PIN_LIMITS_H_
