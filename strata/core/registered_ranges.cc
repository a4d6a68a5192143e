#include "strata/core/registered_ranges.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "glog/logging.h"
#include "strata/core/mutex.h"

namespace strata {
namespace {

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

void RegisteredRanges::Add(Memory range) {
  const uintptr_t begin = Address(range.data());
  MutexLock lock(&mutex_);
  CHECK(ends_.emplace(begin, begin + range.size()).second);
}

void RegisteredRanges::Remove(const void* begin) {
  MutexLock lock(&mutex_);
  CHECK_EQ(ends_.erase(Address(begin)), size_t{1});
}

std::vector<RegisteredRanges::Memory> RegisteredRanges::PartsOf(Memory memory) const {
  std::vector<Memory> parts;
  MutexLock lock(&mutex_);
  while (!memory.empty()) {
    const uintptr_t begin = Address(memory.data());
    uintptr_t border = begin + memory.size();
    const auto next = ends_.upper_bound(begin);
    if (next != ends_.end()) border = std::min(border, next->first);
    if (next != ends_.begin()) {
      const uintptr_t end_before = std::prev(next)->second;
      if (end_before > begin) border = std::min(border, end_before);
    }
    parts.push_back(memory.first(border - begin));
    memory.remove_prefix(border - begin);
  }
  return parts;
}

}  // namespace strata
