// Survives reads of mapped pages that their file no longer backs: the one place in the project that
// handles SIGBUS.
//
// A BackedRegion registers an address range mapped from a file. When a thread touches a page of it
// that the file cannot supply (it was truncated, or the disk failed), the handler maps zero pages
// there, marks the region and lets the thread go on. A fault anywhere else goes to the handler that
// was installed before the first region.
//
// Only faults of user code arrive as signals: a system call that is handed such a page, such as
// write(), fails with EFAULT instead.
//
// Thread-safe.
#ifndef STRATA_CORE_BUS_ERROR_HANDLER_H_
#define STRATA_CORE_BUS_ERROR_HANDLER_H_

#include <cstddef>

namespace strata {

class BackedRegion {
 public:
  // `fd` is the file mapped at [data, data + bytes), page-aligned at its start. Both must outlive
  // the region, and nothing may read the range once the region is gone.
  BackedRegion(const std::byte* data, size_t bytes, int fd);
  ~BackedRegion();
  BackedRegion(const BackedRegion&) = delete;
  BackedRegion& operator=(const BackedRegion&) = delete;

  // True once a page was missing under a reader.
  bool missed_a_page() const;

  struct Entry;

 private:
  Entry* const entry_;
};

}  // namespace strata

#endif  // STRATA_CORE_BUS_ERROR_HANDLER_H_
