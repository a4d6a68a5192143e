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
  return std::unique_ptr<FileMapping>(new FileMapping(path, std::move(fd), info.st_mtim, bytes));
}

FileMapping::FileMapping(const std::string& path, FileDescriptor fd, const timespec& modified,
                         absl::Span<const std::byte> bytes)
    : path_(path), fd_(std::move(fd)), modified_(modified), bytes_(bytes) {
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
  if (info.st_mtim.tv_sec != modified_.tv_sec || info.st_mtim.tv_nsec != modified_.tv_nsec) {
    return InputError("changed", path_, "the file was written to since it was opened");
  }
  return absl::OkStatus();
}

}  // namespace strata
