// The long lists of gguf_inspect, as text: every key, every tensor.
#ifndef STRATA_TOOLS_GGUF_LISTING_H_
#define STRATA_TOOLS_GGUF_LISTING_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {

// One value on one line: text quoted and made printable, long text and long arrays cut with their
// length.
std::string ValueText(GgufValue value);

// "4096 x 128 x 64", fastest first; "scalar" without dims.
std::string DimsText(absl::Span<const int64_t> dims);

// A line a key, shard by shard: key, type, value.
std::string MetadataText(const GgufFile& file);

// SHA-256 of tensors' bytes, by tensor name.
using TensorHashes = absl::flat_hash_map<absl::string_view, std::string>;

// A line a tensor: name, type, dims, bytes, file offset, the shard of a split model, and its hash
// when there are any.
std::string TensorsText(const GgufFile& file, const TensorHashes& hashes);

}  // namespace strata

#endif  // STRATA_TOOLS_GGUF_LISTING_H_
