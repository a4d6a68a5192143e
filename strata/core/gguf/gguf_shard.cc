#include "strata/core/gguf/gguf_shard.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/gguf_header.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

absl::StatusOr<std::unique_ptr<GgufHeader>> ReadHeader(const FileMapping& mapping) {
  const absl::Span<const std::byte> file = mapping.bytes();
  ASSIGN_OR_RETURN(const int64_t header_bytes, GgufHeader::MeasureHeader(file));
  std::vector<std::byte> header(file.begin(), file.begin() + header_bytes);
  // The copy serves from here on; the file's own pages would double what a large header takes.
  mapping.DropPages(0, header_bytes);
  return GgufHeader::Parse(std::move(header), mapping.size());
}

}  // namespace

int64_t GgufShard::trailing_bytes() const {
  int64_t end = header_->header_bytes();
  for (const GgufTensor& tensor : tensors_) end = std::max(end, tensor.file_offset + tensor.bytes);
  return mapping_->size() - end;
}

absl::StatusOr<std::unique_ptr<GgufShard>> GgufShard::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<FileMapping> mapping, FileMapping::Open(path));
  absl::StatusOr<std::unique_ptr<GgufHeader>> header = ReadHeader(*mapping);
  // A file that was changed meanwhile may well look malformed, which is not what is wrong with it.
  RETURN_IF_ERROR(mapping->CheckUnchanged());
  if (!header.ok()) return WithFile(header.status(), path);
  return std::unique_ptr<GgufShard>(new GgufShard(std::move(mapping), *std::move(header)));
}

}  // namespace strata
