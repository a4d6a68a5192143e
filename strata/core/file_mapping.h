// A file mapped whole, read-only and shared, for as long as the object lives.
//
// A mapped file can shrink, be replaced or be deleted by others. A deleted or replaced file keeps
// its old bytes. A page that a shrunk file no longer backs reads as zeros instead of raising
// SIGBUS (strata/core/bus_error_handler.h), and from then on CheckUnchanged is an error: whoever
// has used bytes asks before trusting the result.
//
// What CheckUnchanged goes by is what the kernel says of the open file, so it does not see a write
// that the kernel has not put down yet: of a process that writes through a mapping of its own (a
// converter at work) until those pages are written back, one within the clock tick (some
// milliseconds) of the opening, and any on a network file system that another machine writes to.
//
// Thread-safe. Sizes are in bytes.
#ifndef STRATA_CORE_FILE_MAPPING_H_
#define STRATA_CORE_FILE_MAPPING_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/bus_error_handler.h"
#include "strata/core/file_descriptor.h"

namespace strata {

class FileMapping {
 public:
  // Kind "io" when the file cannot be opened or mapped, or is no regular file. An empty file maps
  // to no bytes. Nothing is read.
  static absl::StatusOr<std::unique_ptr<FileMapping>> Open(const std::string& path);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  // Page-aligned at its start; stays at one address. As long as the file was when it was opened.
  absl::Span<const std::byte> bytes() const { return bytes_; }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  const std::string& path() const { return path_; }
  // Open for reading while the object lives; for large reads that do not go through page faults.
  int fd() const { return fd_.get(); }

  // Lets go of the memory behind a part that was read and is not needed soon; it still reads the
  // same. Only whole pages inside the part are dropped.
  void DropPages(int64_t offset, int64_t num_bytes) const;

  // Kind "changed" when a page was missing under a reader, or when the open file's size, time of
  // modification or time of change is no longer what it was. The last cannot be set back by those
  // who set the other; it also moves when a file is renamed, linked, deleted or given other rights,
  // which changes no byte and is no error where it can be seen.
  absl::Status CheckUnchanged() const;

 private:
  // Takes over `fd`, of which `opened` was said, and the mapping of all of that file.
  FileMapping(const std::string& path, FileDescriptor fd, const struct stat& opened,
              absl::Span<const std::byte> bytes);
  // Whether the file's name, links, owner or rights have changed since.
  bool HasOtherNameOrRights(const struct stat& now) const;

  const std::string path_;
  const FileDescriptor fd_;
  const struct stat opened_;
  const absl::Span<const std::byte> bytes_;
  std::unique_ptr<const BackedRegion> region_;  // Null for an empty file.
};

}  // namespace strata

#endif  // STRATA_CORE_FILE_MAPPING_H_
