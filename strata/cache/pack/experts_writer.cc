#include "strata/cache/pack/experts_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/status_macros.h"

namespace strata {
absl::StatusOr<std::unique_ptr<ExpertsWriter>> ExpertsWriter::Open(const std::string& path,
                                                                   int64_t bytes, bool keep) {
  const bool goes_on = keep && HasSize(path, bytes);
  FileDescriptor fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (goes_on ? 0 : O_TRUNC), 0666));
  if (!fd.is_open()) return WriteError(path, "cannot open", errno);
  auto writer = absl::WrapUnique(new ExpertsWriter(path, std::move(fd)));
  RETURN_IF_ERROR(writer->Reserve(bytes));
  return writer;
}

absl::Status ExpertsWriter::Reserve(int64_t bytes) {
  int result = 0;
  do {
    result = fallocate(fd_.get(), 0, 0, bytes);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return absl::OkStatus();
  if (errno != EOPNOTSUPP) return WriteError(path_, "cannot take the room for it", errno);
  if (ftruncate(fd_.get(), bytes) == 0) return absl::OkStatus();
  return WriteError(path_, "cannot make it as long as it will be", errno);
}

absl::Status ExpertsWriter::Write(int64_t offset, absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_.get(), bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(path_, "cannot write to it", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return absl::OkStatus();
}

absl::Status ExpertsWriter::Sync() {
  if (fdatasync(fd_.get()) == 0) return absl::OkStatus();
  return WriteError(path_, "cannot sync it", errno);
}

bool HasSize(const std::string& path, int64_t bytes) {
  struct stat about = {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_size == bytes;
}

absl::Status CheckRoom(const std::string& folder, int64_t needed, const std::string& reusable) {
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) return IoError(folder, "cannot examine its disk", errno);
  struct stat about = {};
  const int64_t reused = stat(reusable.c_str(), &about) == 0 ? int64_t{about.st_blocks} * 512 : 0;
  const int64_t free_bytes = static_cast<int64_t>(disk.f_bavail) * disk.f_frsize;
  if (needed - reused <= free_bytes) return absl::OkStatus();
  return MachineError(
      absl::StrCat(folder, ": the pack takes ", needed, " bytes",
                   reused > 0 ? absl::StrCat(", of which ", reused, " are there") : "",
                   "; its disk has ", free_bytes, " free"));
}

}  // namespace strata
