// Reads and checks the single records of a GGUF header: its first 24 bytes, a key, a tensor.
//
// Every function moves the cursor past what it read, allocates nothing but error messages, and
// returns InputErrors without a file name.
#ifndef STRATA_CORE_GGUF_GGUF_RECORD_H_
#define STRATA_CORE_GGUF_GGUF_RECORD_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/core/gguf/gguf_cursor.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {

// Our limits. Arrays may be nested in arrays, this many in all.
inline constexpr size_t kMaxGgufArrayDepth = 16;
inline constexpr size_t kMaxGgufKeyBytes = 65535;
inline constexpr size_t kMaxGgufTensorNameBytes = 64;

struct GgufPreamble {
  int version = 0;
  uint64_t num_tensors = 0;
  uint64_t num_keys = 0;
};

// Magic, version, byte order and the counts, which the bytes left could hold.
absl::StatusOr<GgufPreamble> ReadPreamble(GgufCursor& cursor);

// A key, its value's type and its value with all that is nested in it.
absl::StatusOr<GgufKey> ReadKey(GgufCursor& cursor);

// A tensor's record: name, dims, type, offset, and the bytes that follow from them. The offset is
// not compared with anything yet; file_offset is left 0.
absl::StatusOr<GgufTensor> ReadTensor(GgufCursor& cursor);

// The same error, its message beginning with what it is about: "key 'general.name'".
absl::Status About(absl::string_view what, const absl::Status& status);

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_RECORD_H_
