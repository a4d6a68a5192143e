// Owns an open file's descriptor and closes it.
#ifndef STRATA_CORE_FILE_DESCRIPTOR_H_
#define STRATA_CORE_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace strata {

// Move-only; -1 owns nothing.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace strata

#endif  // STRATA_CORE_FILE_DESCRIPTOR_H_
