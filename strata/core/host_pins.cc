#include "strata/core/host_pins.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/mutex.h"

namespace strata {
namespace {

uintptr_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Whether /proc/self/maps gives every page from `start` to `end` the wanted permissions.
bool MappedAs(uintptr_t start, uintptr_t end, HostPins::Access access) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t from = 0, to = 0;
    char permissions[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, permissions) != 3) {
      continue;
    }
    if (to <= start) continue;
    const bool writable = permissions[1] == 'w', shared = permissions[3] == 's';
    if (from > start) return false;
    if (access == HostPins::Access::kWritable ? !writable : writable || !shared) return false;
    if (to >= end) return true;
    start = to;
  }
  return false;
}

}  // namespace

absl::Status HostPins::Pin(absl::Span<const std::byte> memory, Access access) {
  const uintptr_t start = AddressOf(memory.data());
  const int64_t bytes = static_cast<int64_t>(memory.size());
  if (!MappedAs(start, start + bytes, access)) {
    return absl::InvalidArgumentError(access == Access::kWritable
                                          ? "invalid argument: the memory is not writable"
                                          : "invalid argument: not a shared read-only mapping");
  }
  MutexLock lock(&mutex_);
  if (bytes > limit_bytes_ - pinned_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "out of memory: ", pinned_bytes_, " of at most ", limit_bytes_, " bytes are pinned"));
  }
  const auto next = bytes_by_start_.upper_bound(start + bytes - 1);
  if (next != bytes_by_start_.begin()) {
    const auto& [other_start, other_bytes] = *std::prev(next);
    if (other_start + other_bytes > start) {
      return absl::AlreadyExistsError("part of the memory is pinned already");
    }
  }
  bytes_by_start_[start] = bytes;
  pinned_bytes_ += bytes;
  return absl::OkStatus();
}

void HostPins::Unpin(const void* start) {
  MutexLock lock(&mutex_);
  const auto range = bytes_by_start_.find(AddressOf(start));
  CHECK(range != bytes_by_start_.end()) << "unpinned memory that is not pinned";
  pinned_bytes_ -= range->second;
  bytes_by_start_.erase(range);
}

bool HostPins::Holds(absl::Span<const std::byte> memory) const {
  const uintptr_t start = AddressOf(memory.data());
  MutexLock lock(&mutex_);
  const auto next = bytes_by_start_.upper_bound(start);
  if (next == bytes_by_start_.begin()) return false;
  const auto& [from, bytes] = *std::prev(next);
  return start + memory.size() <= from + bytes;
}

int64_t HostPins::pinned_bytes() const {
  MutexLock lock(&mutex_);
  return pinned_bytes_;
}

}  // namespace strata
