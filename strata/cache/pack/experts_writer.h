// Writes a pack's experts.bin, any part of it at any time, by several threads. What was not written
// is zero.
//
// Thread-safe. Errors: kind "io" with the path; too little room is the machine's.
#ifndef STRATA_CACHE_PACK_EXPERTS_WRITER_H_
#define STRATA_CACHE_PACK_EXPERTS_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/file_descriptor.h"

namespace strata {

class ExpertsWriter {
 public:
  // Takes the room of all bytes at once, so that a full disk is found at the start. The file that
  // is there goes on if `keep` and it has this size; else it begins anew.
  static absl::StatusOr<std::unique_ptr<ExpertsWriter>> Open(const std::string& path, int64_t bytes,
                                                             bool keep);

  absl::Status Write(int64_t offset, absl::Span<const std::byte> bytes);
  // What was written before is on the disk.
  absl::Status Sync();

 private:
  ExpertsWriter(std::string path, FileDescriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  absl::Status Reserve(int64_t bytes);

  const std::string path_;
  const FileDescriptor fd_;
};

// Whether a regular file of this size is there.
bool HasSize(const std::string& path, int64_t bytes);

// The machine's fault when the folder's disk has fewer bytes free than `needed`; what
// `reusable` holds there already counts as free.
absl::Status CheckRoom(const std::string& folder, int64_t needed, const std::string& reusable);

}  // namespace strata

#endif  // STRATA_CACHE_PACK_EXPERTS_WRITER_H_
