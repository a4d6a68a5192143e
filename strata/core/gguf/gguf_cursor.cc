#include "strata/core/gguf/gguf_cursor.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// A length past this is not a string that the file's end cut off, but no length at all.
constexpr uint64_t kLongestBelievableString = uint64_t{1} << 31;

}  // namespace

absl::StatusOr<absl::string_view> GgufCursor::ReadString() {
  ASSIGN_OR_RETURN(const uint64_t length, Read<uint64_t>());
  if (length > bytes_left()) {
    return InputError(length > kLongestBelievableString ? "string_too_long" : "truncated", "",
                      absl::StrCat("a string of ", length, " bytes at byte ", position(), ", but ",
                                   bytes_left(), " bytes are left in the file"));
  }
  const absl::string_view text(reinterpret_cast<const char*>(data()), length);
  position_ += length;
  return text;
}

absl::Status GgufCursor::Skip(uint64_t num_bytes) {
  if (num_bytes > bytes_left()) return Truncated(num_bytes);
  position_ += num_bytes;
  return absl::OkStatus();
}

absl::Status GgufCursor::Truncated(uint64_t wanted) const {
  return InputError("truncated", "",
                    absl::StrCat("the file ends at byte ", bytes_.size(), ", ", wanted,
                                 " bytes are wanted at byte ", position()));
}

}  // namespace strata
