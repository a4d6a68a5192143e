// What a pack says of a model: every byte of its files under a checksum, and where each expert's
// slices lie in them. Formats: docs/formats.md.
//
// A shard's bytes are its tensors and the runs between them (its header, padding, what follows the
// last tensor); together they cover it once. Plain values; sizes and offsets are in bytes, offsets
// from the start of a file.
#ifndef STRATA_CACHE_PACK_PACK_MANIFEST_H_
#define STRATA_CACHE_PACK_PACK_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "strata/cache/pack/pack_layout.h"
#include "strata/core/block_type.h"
#include "strata/core/checksum.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/tensor_place.h"

namespace strata {

struct PackManifest {
  struct Shard {
    std::string name;  // Without its folder; it helps to find the file and says nothing else.
    int64_t bytes = 0;
    Checksum hash;  // See ShardHashes.
  };
  // Bytes of a shard, and their checksum.
  struct Run {
    int shard = 0;
    int64_t offset = 0;
    int64_t bytes = 0;
    Checksum hash;
    int64_t end() const { return offset + bytes; }
  };
  struct Tensor {
    std::string name;
    BlockType type = BlockType::kF32;
    std::vector<int64_t> dims;
    Run run;
  };
  // A matrix of a layer's experts.
  struct Part {
    ExpertRole role = ExpertRole::kGate;
    BlockType type = BlockType::kF32;
    int64_t bytes = 0;         // Of one expert's slice.
    std::vector<int> tensors;  // Indices: one that holds all experts, or one for each expert.
    std::vector<Checksum> slices;
    bool is_merged() const { return tensors.size() == 1; }
  };
  struct Layer {
    int block = 0;
    std::vector<Part> parts;      // In the order of the blob.
    std::vector<Checksum> blobs;  // Of an expert's slices, one after the other.
    BlobLayout layout() const {
      BlobLayout layout;
      for (const Part& part : parts) layout.Add(part.bytes);
      return layout;
    }
  };

  std::string tool;   // That wrote it.
  std::string model;  // Path of the first shard when it was written: where to look for the model.
  // See ModelIdentity.
  Checksum routers;
  Checksum experts;
  int num_experts = 0;  // Of a layer.
  int num_used = 0;

  std::vector<Shard> shards;
  std::vector<Tensor> tensors;
  std::vector<Run> rests;            // That belong to no tensor.
  std::vector<Layer> layers;         // Of the trunk that have experts, ascending.
  std::optional<PackLayout> layout;  // Of experts.bin, if there is one.

  int num_all_experts() const { return static_cast<int>(layers.size()) * num_experts; }
  // Of an expert of layers[layer]; the hash is the slice's.
  Run SliceOf(size_t layer, size_t part, int expert) const;
  // By number, as ExpertGeometry counts: bytes of each expert's blob.
  std::vector<int64_t> BlobBytes() const;
  // By number.
  std::vector<Checksum> BlobHashes() const;
  // Of each shard: the checksum of the hashes of its tensors and rests, each as its 16 bytes in the
  // order of its hexadecimal digits, by ascending offset; an empty tensor stands before what begins
  // where it lies.
  std::vector<Checksum> ShardHashes() const;
};

// Kind bad_manifest, naming what is impossible: bytes outside of their shard, covered twice or not
// at all; experts that are not in their tensors; a layout that does not hold them; a shard's hash
// that is not that of its parts.
absl::Status CheckManifest(const PackManifest& manifest);

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_MANIFEST_H_
