// What of a pack is compared, one thing at a time: bytes of a file with their checksum, with a
// header, or with zeros.
//
// Plain values; sizes and offsets are in bytes.
#ifndef STRATA_CACHE_PACK_PACK_ITEMS_H_
#define STRATA_CACHE_PACK_PACK_ITEMS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "strata/cache/pack/pack_manifest.h"

namespace strata {

struct PackItem {
  enum class Kind {
    kRest,      // Bytes of a shard that belong to no tensor.
    kTensor,    // A tensor without experts of the trunk.
    kSlice,     // One expert's slice in a shard.
    kBlobPart,  // The same in experts.bin.
    kPadding,   // Zeros of experts.bin.
    kHeader,    // The first page of experts.bin.
  };
  static constexpr int kExpertsFile = -1;  // In place of a shard.

  Kind kind = Kind::kRest;
  PackManifest::Run run;  // The hash of what has one.
  // Of slices, parts and the padding behind a part.
  size_t layer = 0;  // Index into the manifest's layers.
  int expert = 0;
  size_t part = 0;
  // Of tensors: index into the manifest's.
  size_t tensor = 0;
};
// "rest", "tensor", "slice", "blob", "padding", "header".
absl::string_view NameOf(PackItem::Kind kind);

// All bytes of the shards, by shard and offset.
std::vector<PackItem> ModelItems(const PackManifest& manifest);
// All bytes of experts.bin, by offset; empty without a layout.
std::vector<PackItem> ExpertsItems(const PackManifest& manifest);
// What a quick check takes of them: what is small, and one expert of each layer.
std::vector<PackItem> Sample(const PackManifest& manifest, const std::vector<PackItem>& items);

// "layer 3, expert 17, down in shard 0"; "tensor output.weight in shard 1"; "the header of shard 0".
std::string Describe(const PackManifest& manifest, const PackItem& item);

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_ITEMS_H_
