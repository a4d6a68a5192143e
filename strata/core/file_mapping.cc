#include "strata/core/file_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
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

bool IsSameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileMapping>> FileMapping::Open(const std::string& path) {
  // Without O_NONBLOCK a FIFO that nobody writes would be waited for; regular files ignore it.
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return IoError(path, "cannot open", errno);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return IoError(path, "cannot examine", errno);
  if (S_ISDIR(info.st_mode)) return IoError(path, "cannot read", EISDIR);
  if (!S_ISREG(info.st_mode)) return InputError("io", path, "cannot map: not a regular file");

  absl::Span<const std::byte> bytes;
  if (info.st_size > 0) {
    const size_t size = static_cast<size_t>(info.st_size);
    void* const data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (data == MAP_FAILED) {
      return IoError(path, absl::StrCat("cannot map ", size, " bytes"), errno);
    }
    bytes = absl::MakeConstSpan(static_cast<const std::byte*>(data), size);
  }
  return std::unique_ptr<FileMapping>(new FileMapping(path, std::move(fd), info, bytes));
}

FileMapping::FileMapping(const std::string& path, FileDescriptor fd, const struct stat& opened,
                         absl::Span<const std::byte> bytes)
    : path_(path), fd_(std::move(fd)), opened_(opened), bytes_(bytes) {
  if (!bytes.empty()) {
    region_ = std::make_unique<const BackedRegion>(bytes.data(), bytes.size(), fd_.get());
  }
}

FileMapping::~FileMapping() {
  region_.reset();
  if (!bytes_.empty()) {
    PCHECK(munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()) == 0);
  }
}

void FileMapping::DropPages(int64_t offset, int64_t num_bytes) const {
  CHECK(offset >= 0 && num_bytes >= 0 && num_bytes <= size() - offset);
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  const int64_t begin = (offset + page_bytes - 1) / page_bytes * page_bytes;
  const int64_t end = (offset + num_bytes) / page_bytes * page_bytes;
  if (begin >= end) return;
  // Advice: where it is refused, the pages merely stay.
  madvise(const_cast<std::byte*>(bytes_.data()) + begin, static_cast<size_t>(end - begin),
          MADV_DONTNEED);
}

absl::Status FileMapping::CheckUnchanged() const {
  if (region_ != nullptr && region_->missed_a_page()) {
    return InputError("changed", path_,
                      absl::StrCat("a part of the ", size(),
                                   " mapped bytes could not be read: the file was cut short, or "
                                   "its disk failed"));
  }
  struct stat info;
  if (fstat(fd_.get(), &info) != 0) return IoError(path_, "cannot examine", errno);
  if (info.st_size != size()) {
    return InputError("changed", path_,
                      absl::StrCat("the file was ", size(), " bytes long when it was opened, now ",
                                   info.st_size));
  }
  if (!IsSameTime(info.st_mtim, opened_.st_mtim)) {
    return InputError("changed", path_, "the file was written to since it was opened");
  }
  if (!IsSameTime(info.st_ctim, opened_.st_ctim) && !HasOtherNameOrRights(info)) {
    return InputError("changed", path_,
                      "the file was changed since it was opened, though its time of modification "
                      "says that it was not");
  }
  return absl::OkStatus();
}

bool FileMapping::HasOtherNameOrRights(const struct stat& now) const {
  struct stat named;
  const bool has_its_name =
      stat(path_.c_str(), &named) == 0 && named.st_dev == now.st_dev && named.st_ino == now.st_ino;
  return !has_its_name || now.st_nlink != opened_.st_nlink || now.st_mode != opened_.st_mode ||
         now.st_uid != opened_.st_uid || now.st_gid != opened_.st_gid;
}

}  // namespace strata
