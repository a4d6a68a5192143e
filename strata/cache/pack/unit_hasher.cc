#include "strata/cache/pack/unit_hasher.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/checksum.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/read_at.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Large enough for a disk, small enough for a core's cache, in which it is hashed several times.
constexpr int64_t kPieceBytes = int64_t{1} << 20;

// Checksums of a layer's unit: each part's slices, the blobs, then the merged tensors.
size_t NumHashesOfLayer(const PackManifest::Layer& layer) {
  size_t num_hashes = layer.blobs.size();
  for (const PackManifest::Part& part : layer.parts) {
    num_hashes += part.slices.size() + (part.is_merged() ? 1 : 0);
  }
  return num_hashes;
}

void SetHashesOfLayer(absl::Span<const Checksum> hashes, PackManifest::Layer& layer,
                      PackManifest& manifest) {
  const auto take = [&hashes](absl::Span<Checksum> into) {
    std::copy_n(hashes.begin(), into.size(), into.begin());
    hashes.remove_prefix(into.size());
  };
  for (PackManifest::Part& part : layer.parts) take(absl::MakeSpan(part.slices));
  take(absl::MakeSpan(layer.blobs));
  for (const PackManifest::Part& part : layer.parts) {
    if (part.is_merged()) {
      take({&manifest.tensors[static_cast<size_t>(part.tensors[0])].run.hash, 1});
      continue;
    }
    for (size_t expert = 0; expert < part.tensors.size(); ++expert) {
      manifest.tensors[static_cast<size_t>(part.tensors[expert])].run.hash = part.slices[expert];
    }
  }
}

}  // namespace

std::vector<PackUnit> UnitsOf(const PackManifest& manifest) {
  std::vector<bool> is_of_layer(manifest.tensors.size());
  std::vector<std::pair<std::tuple<int, int64_t>, PackUnit>> found;
  for (size_t i = 0; i < manifest.layers.size(); ++i) {
    PackUnit unit = {.kind = PackUnit::Kind::kLayer, .index = i};
    std::tuple<int, int64_t> first(static_cast<int>(manifest.shards.size()), 0);
    for (const PackManifest::Part& part : manifest.layers[i].parts) {
      for (const int tensor : part.tensors) {
        const PackManifest::Run& run = manifest.tensors[static_cast<size_t>(tensor)].run;
        is_of_layer[static_cast<size_t>(tensor)] = true;
        unit.bytes += run.bytes;
        first = std::min(first, std::tuple(run.shard, run.offset));
      }
    }
    found.emplace_back(first, unit);
  }
  const auto add = [&found](PackUnit::Kind kind, size_t i, const PackManifest::Run& run) {
    found.push_back({{run.shard, run.offset}, {.kind = kind, .index = i, .bytes = run.bytes}});
  };
  for (size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (!is_of_layer[i]) add(PackUnit::Kind::kTensor, i, manifest.tensors[i].run);
  }
  for (size_t i = 0; i < manifest.rests.size(); ++i) {
    add(PackUnit::Kind::kRest, i, manifest.rests[i]);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PackUnit> units;
  for (const auto& [where, unit] : found) units.push_back(unit);
  return units;
}

size_t NumHashes(const PackManifest& manifest, const PackUnit& unit) {
  return unit.kind == PackUnit::Kind::kLayer ? NumHashesOfLayer(manifest.layers[unit.index]) : 1;
}

void SetHashes(const PackUnit& unit, absl::Span<const Checksum> hashes, PackManifest& manifest) {
  CHECK_EQ(hashes.size(), NumHashes(manifest, unit));
  switch (unit.kind) {
    case PackUnit::Kind::kRest:
      manifest.rests[unit.index].hash = hashes[0];
      return;
    case PackUnit::Kind::kTensor:
      manifest.tensors[unit.index].run.hash = hashes[0];
      return;
    case PackUnit::Kind::kLayer:
      SetHashesOfLayer(hashes, manifest.layers[unit.index], manifest);
      return;
  }
}

UnitHasher::UnitHasher(const PackManifest& manifest, absl::Span<const FileMapping* const> shards,
                       Sink sink, Progress progress)
    : manifest_(manifest),
      shards_(shards),
      sink_(std::move(sink)),
      progress_(std::move(progress)),
      piece_(static_cast<size_t>(kPieceBytes)) {}

absl::StatusOr<std::vector<Checksum>> UnitHasher::Hash(const PackUnit& unit) {
  switch (unit.kind) {
    case PackUnit::Kind::kRest:
      return HashRun(manifest_.rests[unit.index]);
    case PackUnit::Kind::kTensor:
      return HashRun(manifest_.tensors[unit.index].run);
    case PackUnit::Kind::kLayer:
      break;
  }
  return HashLayer(unit.index);
}

absl::Status UnitHasher::Read(const PackManifest::Run& run, Use use) {
  for (int64_t done = 0; done < run.bytes;) {
    const int64_t bytes = std::min(kPieceBytes, run.bytes - done);
    const absl::Span<std::byte> piece = absl::MakeSpan(piece_).first(static_cast<size_t>(bytes));
    RETURN_IF_ERROR(
        ReadAt(*shards_[static_cast<size_t>(run.shard)], run.offset + done, piece, "the model"));
    RETURN_IF_ERROR(use(done, piece));
    if (progress_) progress_(bytes);
    done += bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Checksum>> UnitHasher::HashRun(const PackManifest::Run& run) {
  ChecksumBuilder builder;
  RETURN_IF_ERROR(Read(run, [&builder](int64_t, absl::Span<const std::byte> piece) {
    builder.Add(piece);
    return absl::OkStatus();
  }));
  return std::vector<Checksum>{builder.Finish()};
}

absl::StatusOr<std::vector<Checksum>> UnitHasher::HashLayer(size_t index) {
  const PackManifest::Layer& layer = manifest_.layers[index];
  const BlobLayout layout = layer.layout();
  const size_t num_experts = layer.blobs.size();
  std::vector<Checksum> slices(layer.parts.size() * num_experts), blobs(num_experts);
  std::vector<ChecksumBuilder> tensors(layer.parts.size());
  for (size_t expert = 0; expert < num_experts; ++expert) {
    ChecksumBuilder blob;
    const int number = static_cast<int>(index * num_experts + expert);
    for (size_t part = 0; part < layer.parts.size(); ++part) {
      ChecksumBuilder slice;
      const int64_t offset_in_blob = layout.offset(static_cast<int>(part));
      RETURN_IF_ERROR(Read(manifest_.SliceOf(index, part, static_cast<int>(expert)),
                           [&](int64_t offset, absl::Span<const std::byte> piece) {
                             slice.Add(piece);
                             blob.Add(piece);
                             if (layer.parts[part].is_merged()) tensors[part].Add(piece);
                             return sink_ ? sink_(number, offset_in_blob + offset, piece)
                                          : absl::OkStatus();
                           }));
      slices[part * num_experts + expert] = slice.Finish();
    }
    blobs[expert] = blob.Finish();
  }
  std::vector<Checksum> hashes = std::move(slices);
  hashes.insert(hashes.end(), blobs.begin(), blobs.end());
  for (size_t part = 0; part < layer.parts.size(); ++part) {
    if (layer.parts[part].is_merged()) hashes.push_back(tensors[part].Finish());
  }
  return hashes;
}

}  // namespace strata
