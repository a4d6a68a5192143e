// Which host memory has been registered with a device. A driver refuses a copy of which a part alone
// is registered, as a slice of a mapped file may be that ends in the first page of the next one.
//
// Thread-safe.
#ifndef STRATA_CORE_REGISTERED_RANGES_H_
#define STRATA_CORE_REGISTERED_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "strata/core/mutex.h"

namespace strata {

class RegisteredRanges {
 public:
  using Memory = absl::Span<const std::byte>;

  // Ranges do not overlap.
  void Add(Memory range);
  // The range that begins here.
  void Remove(const void* begin);
  // The memory cut so that each part lies in one range or in none; in their order.
  std::vector<Memory> PartsOf(Memory memory) const;

 private:
  mutable Mutex mutex_;
  std::map<uintptr_t, uintptr_t> ends_ ABSL_GUARDED_BY(mutex_);  // By beginning.
};

}  // namespace strata

#endif  // STRATA_CORE_REGISTERED_RANGES_H_
