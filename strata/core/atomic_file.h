// A file that appears whole or not at all.
//
// Bytes go to a temporary file in the same folder, whose name nobody else has or can foresee;
// Commit syncs them, renames the file to its name and syncs the folder. A process that is killed
// leaves the old file or the new one (and perhaps the temporary). Without Commit, or when it fails
// before the renaming, the temporary is removed. Of several who write one path at once the last to
// commit wins, whole.
//
// A new file gets the rights that the umask leaves; one that takes another's place keeps that
// one's. A link stays a link: its target is written, whether it exists yet or not. A path that
// names something else than a regular file (a device, a pipe) is written to directly: it has no old
// content to keep, and renaming would replace it.
//
// Errors: kind "io" with the path and the system's words; a full disk is the machine's.
// Thread-compatible.
#ifndef STRATA_CORE_ATOMIC_FILE_H_
#define STRATA_CORE_ATOMIC_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace strata {

class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  absl::Status Append(absl::Span<const std::byte> bytes);
  // Once; nothing may be appended afterwards.
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, int fd);
  absl::Status Failed(const char* what, int error_number) const;

  const std::string path_;
  std::string temporary_;  // Empty when path_ itself is written, and after Commit.
  int fd_;                 // -1: moved from or closed by Commit.
};

}  // namespace strata

#endif  // STRATA_CORE_ATOMIC_FILE_H_
