#include "strata/core/pin_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace strata {
namespace {

// cgroup v1 writes "no limit" as the largest page-aligned number.
constexpr int64_t kNoLimit = int64_t{1} << 62;

struct CgroupFiles {
  absl::string_view limit;
  absl::string_view usage;
  absl::string_view cache_prefix;  // Of the keys inactive_file and active_file.
};
constexpr CgroupFiles kV1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"};
constexpr CgroupFiles kV2 = {"memory.max", "memory.current", ""};

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::optional<int64_t> ReadNumber(const std::string& path) {
  const std::vector<std::string> lines = ReadLines(path);
  int64_t number = 0;
  if (lines.empty() || !absl::SimpleAtoi(lines[0], &number)) return std::nullopt;
  return number;
}

// The number behind `key` in lines such as "MemAvailable:  123 kB" or "active_file 123".
std::optional<int64_t> FindNumber(const std::vector<std::string>& lines, absl::string_view key) {
  for (const std::string& line : lines) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    int64_t number = 0;
    if (words.size() >= 2 && words[0] == key && absl::SimpleAtoi(words[1], &number)) {
      if (words.size() == 2 || words[2] != "kB") return number;
      return number < kNoLimit / 1024 ? number * 1024 : kNoLimit;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> Least(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() ? a : b;
  return std::min(*a, *b);
}

std::optional<int64_t> LeftInGroup(const std::string& folder, const CgroupFiles& files) {
  const std::optional<int64_t> limit = ReadNumber(absl::StrCat(folder, "/", files.limit));
  if (!limit.has_value() || *limit >= kNoLimit) return std::nullopt;
  const int64_t usage = ReadNumber(absl::StrCat(folder, "/", files.usage)).value_or(0);
  const std::vector<std::string> stat = ReadLines(absl::StrCat(folder, "/memory.stat"));
  const int64_t cache =
      FindNumber(stat, absl::StrCat(files.cache_prefix, "inactive_file")).value_or(0) +
      FindNumber(stat, absl::StrCat(files.cache_prefix, "active_file")).value_or(0);
  return std::clamp<int64_t>(*limit - usage + cache, 0, *limit);
}

// The least of what is left in `group` and in each group above it. A container often sees its own
// group as the top, whatever /proc/self/cgroup calls it: the walk ends at the top in any case.
std::optional<int64_t> LeftInHierarchy(const std::string& mount, std::string group,
                                       const CgroupFiles& files) {
  std::optional<int64_t> left;
  while (true) {
    left = Least(left, LeftInGroup(absl::StrCat(mount, group), files));
    if (group.empty()) return left;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

std::optional<int64_t> LeftInCgroups(const std::string& root) {
  std::optional<int64_t> left;
  // Lines are "hierarchy:controllers:group"; cgroup v2 is hierarchy 0 and names no controllers.
  for (const std::string& line : ReadLines(absl::StrCat(root, "/proc/self/cgroup"))) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::string group(absl::StripSuffix(parts[2], "/"));
    if (parts[0] == "0") {
      left = Least(left, LeftInHierarchy(absl::StrCat(root, "/sys/fs/cgroup"), group, kV2));
      continue;
    }
    for (const absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      if (controller != "memory") continue;
      left = Least(left, LeftInHierarchy(absl::StrCat(root, "/sys/fs/cgroup/memory"), group, kV1));
    }
  }
  return left;
}

}  // namespace

std::optional<int64_t> LockLimit(uint64_t rlimit_bytes) {
  if (rlimit_bytes >= uint64_t{kNoLimit}) return std::nullopt;
  return static_cast<int64_t>(rlimit_bytes);
}

PinLimits ReadPinLimits(const std::string& root) {
  PinLimits limits;
  rlimit lock = {};
  if (getrlimit(RLIMIT_MEMLOCK, &lock) == 0) limits.memlock_bytes = LockLimit(lock.rlim_cur);
  limits.cgroup_bytes = LeftInCgroups(root);
  limits.available_bytes =
      FindNumber(ReadLines(absl::StrCat(root, "/proc/meminfo")), "MemAvailable:");
  return limits;
}

DefaultPinBudget ChooseDefaultPinBudget(const PinLimits& limits, bool pins_count_as_locked) {
  DefaultPinBudget budget = {.bytes = std::numeric_limits<int64_t>::max(), .origin = "no limit"};
  const auto consider = [&](std::optional<int64_t> bytes, absl::string_view origin) {
    if (!bytes.has_value() || *bytes >= budget.bytes) return;
    budget = {.bytes = *bytes, .origin = std::string(origin)};
  };
  const auto most_of = [](std::optional<int64_t> bytes) {
    return bytes.has_value() ? std::optional<int64_t>(*bytes / 4 * 3) : std::nullopt;
  };
  consider(most_of(limits.available_bytes), "3/4 of available memory");
  consider(most_of(limits.cgroup_bytes), "3/4 of what the memory cgroup leaves");
  if (pins_count_as_locked) consider(limits.memlock_bytes, "RLIMIT_MEMLOCK (ulimit -l)");
  return budget;
}

int64_t ReadLockedBytes(const std::string& root) {
  const std::vector<std::string> status = ReadLines(absl::StrCat(root, "/proc/self/status"));
  return FindNumber(status, "VmLck:").value_or(0) + FindNumber(status, "VmPin:").value_or(0);
}

}  // namespace strata
