// Hashes a model once, in units: a tensor, a run that belongs to no tensor, or a layer, of which
// each expert's slices, its blob, and the tensors that the slices make up are hashed together while
// the bytes are in the core's cache.
//
// A unit's expert bytes go to a sink as well, in the order of their blob. Thread-compatible; each
// thread has a hasher of its own. Sizes and offsets are in bytes.
#ifndef STRATA_CACHE_PACK_UNIT_HASHER_H_
#define STRATA_CACHE_PACK_UNIT_HASHER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/checksum.h"
#include "strata/core/file_mapping.h"

namespace strata {

struct PackUnit {
  enum class Kind { kRest, kTensor, kLayer };
  Kind kind = Kind::kRest;
  size_t index = 0;  // Among the manifest's rests, tensors or layers.
  int64_t bytes = 0;
};

// Every byte of the shards in one of them, by their order in the first shard that they are in.
std::vector<PackUnit> UnitsOf(const PackManifest& manifest);

// How many checksums a unit has.
size_t NumHashes(const PackManifest& manifest, const PackUnit& unit);
// Puts a unit's checksums where the manifest has them.
void SetHashes(const PackUnit& unit, absl::Span<const Checksum> hashes, PackManifest& manifest);

class UnitHasher {
 public:
  // Of the expert with this number, bytes that begin at `offset` of its blob.
  using Sink = std::function<absl::Status(int number, int64_t offset, absl::Span<const std::byte>)>;
  // Hears of bytes that were read.
  using Progress = std::function<void(int64_t bytes)>;

  // `sink` may be empty. All of them outlive it; `shards` are as in the manifest.
  UnitHasher(const PackManifest& manifest, absl::Span<const FileMapping* const> shards, Sink sink,
             Progress progress);

  // An error is of a file, or of the sink.
  absl::StatusOr<std::vector<Checksum>> Hash(const PackUnit& unit);

 private:
  using Use = absl::FunctionRef<absl::Status(int64_t offset, absl::Span<const std::byte>)>;
  // Piece by piece; `offset` counts from the run's start.
  absl::Status Read(const PackManifest::Run& run, Use use);
  absl::StatusOr<std::vector<Checksum>> HashRun(const PackManifest::Run& run);
  absl::StatusOr<std::vector<Checksum>> HashLayer(size_t layer);

  const PackManifest& manifest_;
  const absl::Span<const FileMapping* const> shards_;
  const Sink sink_;
  const Progress progress_;
  std::vector<std::byte> piece_;
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_UNIT_HASHER_H_
