#include "strata/core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/status_macros.h"

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

// The path that the link at `path`, or a chain of them, leads to, whether something is there or
// not; `path` itself when it is no link.
absl::StatusOr<std::string> FollowLinks(const std::string& path) {
  constexpr int kMostLinks = 40;  // As the kernel.
  std::string target = path;
  for (int i = 0; i < kMostLinks; ++i) {
    char link[PATH_MAX];
    const ssize_t length = readlink(target.c_str(), link, sizeof(link));
    if (length < 0) return target;  // No link, or nothing.
    const std::string next(link, static_cast<size_t>(length));
    target = next[0] == '/' ? next : absl::StrCat(FolderOf(target), "/", next);
  }
  return WriteError(path, "cannot follow its links", ELOOP);
}

// Opens a file beside `path` of a name that was free; -1 as open. Processes of two containers may
// have one number, so the name is random, and the file is created or not at all.
int CreateBeside(const std::string& path, std::string* name) {
  constexpr int kMostTries = 100;
  std::random_device random;
  for (int i = 0; i < kMostTries; ++i) {
    const uint64_t number = uint64_t{random()} << 32 | random();
    *name = absl::StrCat(path, ".", absl::Hex(number, absl::kZeroPad16), ".tmp");
    const int fd = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(other.path_),
      temporary_(std::exchange(other.temporary_, "")),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string target, FollowLinks(path));
  struct stat old;
  const bool replaces = stat(target.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode)) {
    const int fd = open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return WriteError(path, "cannot write to it", errno);
    return AtomicFile(target, "", fd);
  }
  if (replaces && access(target.c_str(), W_OK) != 0) {
    return WriteError(path, "cannot write to it", errno);
  }
  std::string temporary;
  const int fd = CreateBeside(target, &temporary);
  if (fd < 0) return WriteError(path, "cannot create a file beside it", errno);
  AtomicFile file(target, temporary, fd);
  // The umask has no say in rights that were chosen once.
  if (replaces && fchmod(file.fd_, old.st_mode & 0777) != 0) {
    return WriteError(path, "cannot give it its rights", errno);
  }
  return file;
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
  // What fails from here on leaves the temporary to the destructor.
  if (close(std::exchange(fd_, -1)) != 0) return Failed("cannot close it", errno);
  if (temporary_.empty()) return absl::OkStatus();
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Failed("cannot give it its name", errno);
  }
  temporary_.clear();
  const FileDescriptor folder(open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return Failed("cannot open its folder", errno);
  if (fsync(folder.get()) != 0) return Failed("cannot sync its folder", errno);
  return absl::OkStatus();
}

}  // namespace strata
