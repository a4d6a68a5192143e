// The folder of a pack: the names of what is in it, and who may write it.
#ifndef STRATA_CACHE_PACK_PACK_FOLDER_H_
#define STRATA_CACHE_PACK_PACK_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "strata/core/file_descriptor.h"

namespace strata {

class PackFolder {
 public:
  explicit PackFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string manifest() const { return absl::StrCat(path_, "/manifest.json"); }
  std::string experts() const { return absl::StrCat(path_, "/experts.bin"); }
  // Of a build that has not ended: what is done so far, and the experts as far as they are written.
  std::string checkpoint() const { return absl::StrCat(path_, "/pack.partial"); }
  std::string partial_experts() const { return absl::StrCat(path_, "/experts.bin.partial"); }

  // Makes the folder if it is not there and keeps other builds out until the descriptor is closed.
  // Kind io; kUnavailable when another build works there.
  absl::StatusOr<FileDescriptor> Lock() const;
  // Kind io when one of its files is there and is something else than a regular file: no build could
  // replace a folder or end with a pipe. What a build has begun may be no link either, through which
  // it would write over another file.
  absl::Status CheckFiles() const;
  // Removes the temporaries of builds that were killed while they wrote a file. Only under Lock.
  absl::Status RemoveTemporaries() const;
  // What was renamed and removed in it stays so. Errors: as WriteError.
  absl::Status Sync() const;

 private:
  const std::string path_;
};

// The system refused to write at `path`: kind io, or the machine's when its disk is full, or for a
// quota or a limit on the size of files.
absl::Status WriteError(const std::string& path, const char* what, int error_number);

// Removes a file that may not be there. Errors: as WriteError.
absl::Status RemoveFile(const std::string& path);

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_FOLDER_H_
