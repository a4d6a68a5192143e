#include "strata/core/cli/cpu_quota.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> Quotient(const std::string& quota, const std::string& period) {
  double time = 0, of = 0;
  if (!absl::SimpleAtod(quota, &time) || !absl::SimpleAtod(period, &of)) return std::nullopt;
  if (!(time > 0 && of > 0)) return std::nullopt;  // -1: none.
  return time / of;
}

// "200000 100000", or "max 100000" without a limit.
std::optional<double> QuotaOfVersion2(const fs::path& group) {
  const std::vector<std::string> words =
      absl::StrSplit(FirstLine(group / "cpu.max"), ' ', absl::SkipEmpty());
  return words.size() == 2 ? Quotient(words[0], words[1]) : std::nullopt;
}

std::optional<double> QuotaOfVersion1(const fs::path& group) {
  return Quotient(FirstLine(group / "cpu.cfs_quota_us"), FirstLine(group / "cpu.cfs_period_us"));
}

// Of the group `path` below `mount` and those around it. One that is not there (a container sees its
// own group as the root) limits nothing.
template <typename QuotaOf>
void TakeLeast(const fs::path& mount, const std::string& path, QuotaOf quota_of,
               std::optional<double>& least) {
  fs::path below = fs::path(path).relative_path();
  while (true) {
    const std::optional<double> quota = quota_of(mount / below);
    if (quota.has_value()) least = std::min(*quota, least.value_or(*quota));
    if (below.empty()) return;
    below = below.parent_path();
  }
}

}  // namespace

std::optional<double> CpuQuota(const std::string& root) {
  const fs::path cgroups = fs::path(root) / "sys/fs/cgroup";
  std::ifstream groups(fs::path(root) / "proc/self/cgroup");
  std::optional<double> least;
  // "0::/user.slice" in version 2, "4:cpu,cpuacct:/docker/1f" in version 1.
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (parts[1].empty()) {
      TakeLeast(cgroups, parts[2], QuotaOfVersion2, least);
    } else if (std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end()) {
      TakeLeast(cgroups / parts[1], parts[2], QuotaOfVersion1, least);
      TakeLeast(cgroups / "cpu", parts[2], QuotaOfVersion1, least);
    }
  }
  return least;
}

}  // namespace strata
