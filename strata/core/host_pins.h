// The host memory that a HostDevice has pinned: which ranges, how much, up to which limit.
//
// It refuses what the driver refuses: more than the limit, a range that overlaps a pinned one,
// memory that is not mapped as the kind of pin demands.
//
// Thread-safe.
#ifndef STRATA_CORE_HOST_PINS_H_
#define STRATA_CORE_HOST_PINS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/mutex.h"

namespace strata {

class HostPins {
 public:
  explicit HostPins(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  enum class Access {
    kWritable,        // Memory that may be written.
    kSharedReadOnly,  // A mapping that is shared and only read.
  };
  absl::Status Pin(absl::Span<const std::byte> memory, Access access) ABSL_LOCKS_EXCLUDED(mutex_);
  void Unpin(const void* start) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether one pinned range holds all of the memory: a copy may not span two.
  bool Holds(absl::Span<const std::byte> memory) const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t pinned_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const int64_t limit_bytes_;
  mutable Mutex mutex_;
  std::map<uintptr_t, int64_t> bytes_by_start_ ABSL_GUARDED_BY(mutex_);
  int64_t pinned_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace strata

#endif  // STRATA_CORE_HOST_PINS_H_
