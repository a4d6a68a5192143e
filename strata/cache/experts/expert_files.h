// Where the bytes of every expert lie: mapped files, and for each expert its slices in them.
//
// In memory the slices of one expert are its blob: see BlobLayout.
//
// Immutable; the mappings outlive it. Sizes and offsets are in bytes.
#ifndef STRATA_CACHE_EXPERTS_EXPERT_FILES_H_
#define STRATA_CACHE_EXPERTS_EXPERT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"

namespace strata {

class ExpertFiles {
 public:
  // For hash tables of experts.
  struct Hash {
    size_t operator()(ExpertId id) const;
  };

  // Of a model.
  ExpertFiles(const GgufFile& file, const ExpertLayout& layout);
  // Of files that hold no model: each slice's shard is an index into `shards`.
  ExpertFiles(std::vector<const FileMapping*> shards,
              std::vector<std::pair<ExpertId, ExpertSlices>> experts);

  // In the order of layers and indices, or as given.
  absl::Span<const ExpertId> ids() const { return ids_; }
  const ExpertSlices& Slices(ExpertId id) const;
  BlobLayout LayoutOf(ExpertId id) const { return Slices(id).layout(); }
  int64_t BlobBytes(ExpertId id) const { return LayoutOf(id).bytes(); }
  int64_t max_blob_bytes() const { return max_blob_bytes_; }

  // Whether slices lie in one file as in their blob: one read or copy of its bytes brings them all.
  bool LieAsBlob(const ExpertSlices& slices) const;

  absl::Span<const FileMapping* const> shards() const { return shards_; }
  const FileMapping& ShardOf(const ExpertSlice& slice) const { return *shards_[slice.shard]; }
  // In the mapping: reading may wait for the disk.
  absl::Span<const std::byte> Mapped(const ExpertSlice& slice) const;
  // Of all mappings: see FileMapping.
  absl::Status CheckUnchanged() const;

  // For messages: "layer 3, expert 17"; "layer 3, expert 17, gate in shard 0 (model.gguf)"; the
  // same with all slices.
  static std::string Describe(ExpertId id);
  std::string Describe(ExpertId id, const ExpertSlice& slice) const;
  std::string DescribeSlices(ExpertId id) const;

 private:
  void Add(ExpertId id, const ExpertSlices& slices);
  std::string Describe(const ExpertSlice& slice) const;

  std::vector<const FileMapping*> shards_;
  std::vector<ExpertId> ids_;
  absl::flat_hash_map<ExpertId, ExpertSlices, Hash> slices_;
  int64_t max_blob_bytes_ = 0;
};

}  // namespace strata

#endif  // STRATA_CACHE_EXPERTS_EXPERT_FILES_H_
