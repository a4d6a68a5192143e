#include "strata/core/read_at.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"

namespace strata {

absl::Status ReadAt(const FileMapping& file, int64_t offset, absl::Span<std::byte> into,
                    absl::string_view what) {
  while (!into.empty()) {
    const ssize_t bytes = pread(file.fd(), into.data(), into.size(), offset);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      return IoError(file.path(), absl::StrCat("reading ", what, " at byte ", offset), errno);
    }
    if (bytes == 0) {
      return InputError("changed", file.path(),
                        absl::StrCat("reading ", what, ": the file ends at ", offset, ", ",
                                     into.size(), " bytes short"));
    }
    into.remove_prefix(static_cast<size_t>(bytes));
    offset += bytes;
  }
  return absl::OkStatus();
}

}  // namespace strata
