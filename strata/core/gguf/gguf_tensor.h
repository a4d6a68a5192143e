// One tensor of a GGUF file: what its record says, and where its bytes lie.
#ifndef STRATA_CORE_GGUF_GGUF_TENSOR_H_
#define STRATA_CORE_GGUF_GGUF_TENSOR_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/block_type.h"

namespace strata {

// A plain value. Sizes and offsets are in bytes; the name is a view of the header.
struct GgufTensor {
  static constexpr int kMaxDims = 4;

  absl::string_view name;
  BlockType type = BlockType::kF32;
  int num_dims = 0;
  std::array<int64_t, kMaxDims> all_dims = {1, 1, 1, 1};  // Those past num_dims are 1.
  int shard = 0;                                          // Index into GgufFile::shards().
  int64_t offset = 0;                                     // From the start of the shard's data.
  int64_t file_offset = 0;                                // From the start of the shard's file.
  int64_t bytes = 0;

  // Fastest first: dims()[0] is the row length. Empty for a single number.
  absl::Span<const int64_t> dims() const {
    return absl::MakeConstSpan(all_dims.data(), static_cast<size_t>(num_dims));
  }
  int64_t num_elements() const { return all_dims[0] * all_dims[1] * all_dims[2] * all_dims[3]; }
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_TENSOR_H_
