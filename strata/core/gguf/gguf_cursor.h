// Reads a GGUF header's numbers and strings in order, each only after checking that it is there.
//
// Errors are InputErrors without a file name. Thread-compatible; the bytes are borrowed.
#ifndef STRATA_CORE_GGUF_GGUF_CURSOR_H_
#define STRATA_CORE_GGUF_GGUF_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

class GgufCursor {
 public:
  explicit GgufCursor(absl::Span<const std::byte> bytes) : bytes_(bytes) {}

  int64_t position() const { return static_cast<int64_t>(position_); }
  // The next byte to be read.
  const std::byte* data() const { return bytes_.data() + position_; }
  uint64_t bytes_left() const { return bytes_.size() - position_; }

  // A number of fixed width; kind "truncated" past the end.
  template <typename T>
  absl::StatusOr<T> Read() {
    static_assert(std::is_arithmetic_v<T>);
    if (bytes_left() < sizeof(T)) return Truncated(sizeof(T));
    T value;
    std::memcpy(&value, data(), sizeof value);
    position_ += sizeof value;
    return value;
  }

  // A u64 length and as many bytes. Kind "truncated" past the end; "string_too_long" when no file
  // could be that long by accident.
  absl::StatusOr<absl::string_view> ReadString();

  // Kind "truncated" past the end.
  absl::Status Skip(uint64_t num_bytes);

 private:
  absl::Status Truncated(uint64_t wanted) const;

  const absl::Span<const std::byte> bytes_;
  size_t position_ = 0;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_CURSOR_H_
