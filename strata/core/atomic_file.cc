#include "strata/core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"

namespace strata {
namespace {

absl::Status WriteError(const std::string& path, const char* what, int error_number) {
  const absl::Status status = IoError(path, what, error_number);
  if (error_number != ENOSPC && error_number != EDQUOT) return status;
  return MachineError(absl::StrCat(path, ": ", status.message()));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A link's target, so that the link stays; `path` itself when it does not exist yet.
std::string Resolved(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) != nullptr ? std::string(resolved) : path;
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(other.path_),
      temporary_(std::exchange(other.temporary_, "")),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  const std::string target = Resolved(path);
  mode_t mode = 0666;
  struct stat info;
  if (stat(target.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) {
      const int fd = open(target.c_str(), O_WRONLY | O_CLOEXEC);
      if (fd < 0) return WriteError(path, "cannot write to it", errno);
      return AtomicFile(target, "", fd);
    }
    if (access(target.c_str(), W_OK) != 0) return WriteError(path, "cannot write to it", errno);
    mode = info.st_mode & 0777;
  }
  const std::string temporary = absl::StrCat(target, ".", getpid(), ".tmp");
  unlink(temporary.c_str());  // Of a process that had this number and was killed.
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return WriteError(path, "cannot create a file beside it", errno);
  return AtomicFile(target, temporary, fd);
}

absl::Status AtomicFile::Failed(const char* what, int error_number) const {
  return WriteError(path_, what, error_number);
}

absl::Status AtomicFile::Append(absl::Span<const std::byte> bytes) {
  CHECK_GE(fd_, 0) << "Append after Commit";
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("cannot write to it", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  CHECK_GE(fd_, 0) << "Commit twice";
  // A device need not know fsync.
  if (!temporary_.empty() && fsync(fd_) != 0) return Failed("cannot sync it", errno);
  if (close(std::exchange(fd_, -1)) != 0) return Failed("cannot close it", errno);
  const std::string temporary = std::exchange(temporary_, "");
  if (temporary.empty()) return absl::OkStatus();
  if (rename(temporary.c_str(), path_.c_str()) != 0) {
    const int error_number = errno;
    unlink(temporary.c_str());
    return Failed("cannot give it its name", error_number);
  }
  const FileDescriptor folder(open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return Failed("cannot open its folder", errno);
  if (fsync(folder.get()) != 0) return Failed("cannot sync its folder", errno);
  return absl::OkStatus();
}

}  // namespace strata
