#include "strata/tools/stage_experiments/temporary_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/printable.h"

namespace strata::stagebench {
namespace {

constexpr size_t kShownPathBytes = 200;

absl::Status FolderError(const std::string& folder, absl::string_view what) {
  return MachineError(absl::StrCat("temporary folder ", Printable(folder, kShownPathBytes), ": ",
                                   what, "; TMPDIR names another"));
}

// Where the filesystem has no files without a name, one that loses its name at once.
FileDescriptor OpenNameless(const std::string& folder) {
  FileDescriptor nameless(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (nameless.is_open()) return nameless;
  std::string path = absl::StrCat(folder, "/strata-XXXXXX");
  FileDescriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (file.is_open()) unlink(path.c_str());
  return file;
}

}  // namespace

std::string TemporaryFolder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder == nullptr || *folder == '\0' ? "/tmp" : folder;
}

absl::StatusOr<FileDescriptor> CreateTemporaryFile(const std::string& folder, int64_t bytes) {
  struct statvfs space;
  if (statvfs(folder.c_str(), &space) != 0) return FolderError(folder, std::strerror(errno));
  const int64_t free = static_cast<int64_t>(space.f_bavail * space.f_frsize);
  if (free < bytes) {
    return FolderError(folder, absl::StrCat(FormatByteSize(bytes), " are needed and ",
                                            FormatByteSize(free), " are free"));
  }
  FileDescriptor file = OpenNameless(folder);
  if (!file.is_open()) return FolderError(folder, std::strerror(errno));
  return file;
}

std::string PathOf(const FileDescriptor& file) {
  return absl::StrCat("/proc/self/fd/", file.get());
}

}  // namespace strata::stagebench
