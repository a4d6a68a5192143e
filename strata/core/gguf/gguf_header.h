// The records of one GGUF file: its keys, its tensors and where the data begins.
//
// A header is everything before the tensor data. It is checked twice by the same code:
// MeasureHeader walks the file as it lies on disk and finds where the header ends, without a table;
// Parse walks a private copy of those bytes and builds the tables. So nothing is sized by a count
// before that many records were really seen, and what was checked cannot change afterwards.
//
// Errors are InputErrors without a file name; docs/design/gguf.md lists their kinds and limits.
#ifndef STRATA_CORE_GGUF_GGUF_HEADER_H_
#define STRATA_CORE_GGUF_GGUF_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/name_index.h"

namespace strata {

// Thread-safe once made, but for TakeTensors.
class GgufHeader {
 public:
  // Bytes of the header that `file` begins with.
  static absl::StatusOr<int64_t> MeasureHeader(absl::Span<const std::byte> file);

  // `header` are the first bytes of a file of `file_bytes` bytes, as many as MeasureHeader says.
  // Also checks that each tensor lies inside the file and shares no byte with another.
  static absl::StatusOr<std::unique_ptr<GgufHeader>> Parse(std::vector<std::byte> header,
                                                           int64_t file_bytes);

  GgufHeader(const GgufHeader&) = delete;
  GgufHeader& operator=(const GgufHeader&) = delete;

  int version() const { return version_; }
  int64_t alignment() const { return alignment_; }
  int64_t header_bytes() const { return static_cast<int64_t>(bytes_.size()); }
  // header_bytes() rounded up to the alignment; may lie past the end of a file without tensors.
  int64_t data_offset() const { return data_offset_; }
  absl::Span<const GgufKey> keys() const { return keys_; }  // In file order.
  const GgufValue* Find(absl::string_view key) const;       // Null when there is none.

  // The tensors in file order, with shard 0; names are views of this header. To be called once.
  std::vector<GgufTensor> TakeTensors();

 private:
  explicit GgufHeader(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  absl::Status ReadRecords();
  absl::Status ReadAlignment();
  absl::Status PlaceTensors(int64_t file_bytes);

  const std::vector<std::byte> bytes_;
  int version_ = 0;
  int64_t alignment_ = 32;
  int64_t data_offset_ = 0;
  std::vector<GgufKey> keys_;
  NameIndex<GgufKey, &GgufKey::key> keys_by_name_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_HEADER_H_
