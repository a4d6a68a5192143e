// Where each expert's blob lies in a pack's experts.bin: after a page of header, each at a multiple
// of kAlignment, one after the other in some order, with zeros where no slice is. So one read
// brings an expert, and a copy of its blob is one piece.
//
// Plain values; experts by number (see ExpertGeometry), sizes and offsets in bytes.
#ifndef STRATA_CACHE_PACK_PACK_LAYOUT_H_
#define STRATA_CACHE_PACK_PACK_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/checksum.h"

namespace strata {

struct PackLayout {
  static constexpr int64_t kAlignment = 4096;
  static constexpr int64_t kHeaderBytes = kAlignment;
  // Of a blob with the zeros up to the next.
  static int64_t Padded(int64_t blob_bytes) {
    return (blob_bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Blobs in the order of `order`, which holds each number once.
  static PackLayout Create(absl::Span<const int64_t> blob_bytes, absl::Span<const int> order);

  // What keeps it from being a layout of these blobs; empty when nothing does.
  std::string WhyNot(absl::Span<const int64_t> blob_bytes) const;

  // The first page of experts.bin: which file this is, by the hashes of its blobs in the order of
  // their numbers.
  std::vector<std::byte> Header(absl::Span<const Checksum> blobs) const;
  // Kinds bad_magic, bad_version and bad_checksum; pack_mismatch when it is of other blobs or of
  // another layout. Without a file.
  absl::Status CheckHeader(absl::Span<const std::byte> header,
                           absl::Span<const Checksum> blobs) const;

  int64_t bytes = 0;  // Of the file.
  std::string order;  // "layer" or "profile".
  std::vector<int64_t> offsets;
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_LAYOUT_H_
