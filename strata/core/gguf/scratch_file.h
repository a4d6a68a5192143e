// A file in memory, without a name of its own, that is written anew for every input of a test.
#ifndef STRATA_CORE_GGUF_SCRATCH_FILE_H_
#define STRATA_CORE_GGUF_SCRATCH_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"

namespace strata {

class ScratchFile {
 public:
  ScratchFile()
      : fd_(memfd_create("scratch", MFD_CLOEXEC)), path_(absl::StrCat("/proc/self/fd/", fd_)) {
    PCHECK(fd_ >= 0);
  }
  ~ScratchFile() { close(fd_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // Opens the file, also as the target of a link.
  const std::string& path() const { return path_; }
  void Set(absl::string_view content) {
    PCHECK(ftruncate(fd_, 0) == 0);
    PCHECK(pwrite(fd_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()));
  }

 private:
  const int fd_;
  const std::string path_;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_SCRATCH_FILE_H_
