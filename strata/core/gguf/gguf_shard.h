// One file of a GGUF model: its mapping and its checked header.
//
// Owned by a GgufFile (strata/core/gguf/gguf_file.h), which also owns the table of tensors.
// Thread-safe once that is open. Sizes and offsets are in bytes.
#ifndef STRATA_CORE_GGUF_GGUF_SHARD_H_
#define STRATA_CORE_GGUF_GGUF_SHARD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/gguf_header.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {

class GgufShard {
 public:
  static absl::StatusOr<std::unique_ptr<GgufShard>> Open(const std::string& path);
  GgufShard(const GgufShard&) = delete;
  GgufShard& operator=(const GgufShard&) = delete;

  const GgufHeader& header() const { return *header_; }
  const FileMapping& mapping() const { return *mapping_; }
  const std::string& path() const { return mapping_->path(); }
  int version() const { return header_->version(); }
  int64_t alignment() const { return header_->alignment(); }
  // Where tensor data begins; may lie past the end of a file that has no tensors.
  int64_t data_offset() const { return header_->data_offset(); }
  absl::Span<const GgufKey> keys() const { return header_->keys(); }  // In file order.
  // In file order; a part of GgufFile::tensors().
  absl::Span<const GgufTensor> tensors() const { return tensors_; }
  // Null when there is none.
  const GgufValue* Find(absl::string_view key) const { return header_->Find(key); }
  // Bytes after the last tensor's, or after the header; harmless, but no writer leaves many.
  int64_t trailing_bytes() const;

 private:
  friend class GgufFile;

  GgufShard(std::unique_ptr<FileMapping> mapping, std::unique_ptr<GgufHeader> header)
      : mapping_(std::move(mapping)), header_(std::move(header)) {}

  std::unique_ptr<FileMapping> mapping_;
  std::unique_ptr<GgufHeader> header_;
  absl::Span<const GgufTensor> tensors_;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_SHARD_H_
