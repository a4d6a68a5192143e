#include "strata/cache/pack/pack_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// As AtomicFile names what it has not committed: NAME.0123456789abcdef.tmp.
bool IsTemporaryOf(absl::string_view name, absl::string_view entry) {
  constexpr size_t kDigits = 16;
  if (!absl::ConsumePrefix(&entry, name) || !absl::ConsumePrefix(&entry, ".") ||
      !absl::ConsumeSuffix(&entry, ".tmp") || entry.size() != kDigits) {
    return false;
  }
  for (const char c : entry) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

FileDescriptor OpenFolder(const std::string& path) {
  return FileDescriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

absl::Status NoRegularFile(const std::string& path) {
  return InputError("io", path, "it is in the way of the pack: it is no regular file");
}

}  // namespace

absl::StatusOr<FileDescriptor> PackFolder::Lock() const {
  if (mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST) {
    return WriteError(path_, "cannot make the folder", errno);
  }
  FileDescriptor folder = OpenFolder(path_);
  if (!folder.is_open()) return IoError(path_, "cannot open the folder", errno);
  // Where a filesystem has no locks, whoever starts two builds for one folder is not told.
  if (flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::UnavailableError(absl::StrCat(path_, ": another build is writing this pack"));
  }
  return folder;
}

absl::Status PackFolder::CheckFiles() const {
  struct stat about = {};
  for (const std::string& path : {manifest(), experts()}) {
    if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return NoRegularFile(path);
  }
  for (const std::string& path : {checkpoint(), partial_experts()}) {
    if (lstat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return NoRegularFile(path);
  }
  return absl::OkStatus();
}

absl::Status PackFolder::RemoveTemporaries() const {
  std::error_code error;
  std::filesystem::directory_iterator entry(path_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (IsTemporaryOf("manifest.json", name) || IsTemporaryOf("pack.partial", name)) {
      RETURN_IF_ERROR(RemoveFile(absl::StrCat(path_, "/", name)));
    }
  }
  return error ? IoError(path_, "cannot list the folder", error.value()) : absl::OkStatus();
}

absl::Status PackFolder::Sync() const {
  const FileDescriptor folder = OpenFolder(path_);
  if (folder.is_open() && fsync(folder.get()) == 0) return absl::OkStatus();
  return WriteError(path_, "cannot sync the folder", errno);
}

absl::Status WriteError(const std::string& path, const char* what, int error_number) {
  const absl::Status status = IoError(path, what, error_number);
  if (error_number != ENOSPC && error_number != EDQUOT && error_number != EFBIG) return status;
  return MachineError(absl::StrCat(path, ": ", status.message()));
}

absl::Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return WriteError(path, "cannot remove", errno);
}

}  // namespace strata
