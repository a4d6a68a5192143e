#include "strata/cache/pack/pack_manifest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "strata/cache/pack/pack_layout.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

using Run = PackManifest::Run;

// No sum of so many of so many bytes passes 63 bits.
constexpr int64_t kMaxSliceBytes = int64_t{1} << 38;
constexpr int64_t kMaxExperts = 1 << 24;

absl::Status Bad(const std::string& what) { return InputError("bad_manifest", "", what); }

// By shard, tensors and rests in the order in which its hash takes them.
std::vector<std::vector<const Run*>> RunsByShard(const PackManifest& manifest) {
  std::vector<std::vector<const Run*>> shards(manifest.shards.size());
  for (const PackManifest::Tensor& tensor : manifest.tensors) {
    shards[static_cast<size_t>(tensor.run.shard)].push_back(&tensor.run);
  }
  for (const Run& rest : manifest.rests) {
    shards[static_cast<size_t>(rest.shard)].push_back(&rest);
  }
  for (std::vector<const Run*>& runs : shards) {
    std::stable_sort(runs.begin(), runs.end(), [](const Run* a, const Run* b) {
      return std::tuple(a->offset, a->bytes > 0) < std::tuple(b->offset, b->bytes > 0);
    });
  }
  return shards;
}

Checksum HashOf(const std::vector<const Run*>& runs) {
  ChecksumBuilder builder;
  for (const Run* run : runs) builder.Add(run->hash.ToBytes());
  return builder.Finish();
}

absl::Status CheckShard(const PackManifest::Shard& shard, size_t index,
                        const std::vector<const Run*>& runs) {
  int64_t end = 0;
  for (const Run* run : runs) {
    if (run->bytes < 0 || run->offset != (run->bytes == 0 ? run->offset : end) || run->offset < 0 ||
        run->bytes > shard.bytes - run->offset) {
      return Bad(absl::StrCat("shard ", index, " of ", shard.bytes, " bytes is not covered once: ",
                              run->bytes, " bytes at ", run->offset, " follow those before ", end));
    }
    if (run->bytes > 0) end = run->end();
  }
  if (end != shard.bytes) {
    return Bad(absl::StrCat("shard ", index, " has ", shard.bytes, " bytes, of which ", end,
                            " are covered"));
  }
  if (HashOf(runs) == shard.hash) return absl::OkStatus();
  return Bad(absl::StrCat("the hash of shard ", index, " is not that of its parts"));
}

absl::Status CheckPart(const PackManifest& manifest, const PackManifest::Layer& layer,
                       const PackManifest::Part& part, std::vector<bool>& used) {
  const auto num_experts = static_cast<size_t>(manifest.num_experts);
  const std::string what = absl::StrCat("layer ", layer.block, ", ", NameOf(part.role));
  if (part.slices.size() != num_experts ||
      (part.tensors.size() != 1 && part.tensors.size() != num_experts)) {
    return Bad(absl::StrCat(what, ": ", part.slices.size(), " slices in ", part.tensors.size(),
                            " tensors for ", num_experts, " experts"));
  }
  if (part.bytes <= 0 || part.bytes > kMaxSliceBytes) {
    return Bad(absl::StrCat(what, ": slices of ", part.bytes, " bytes"));
  }
  const int64_t tensor_bytes =
      part.is_merged() ? part.bytes * static_cast<int64_t>(num_experts) : part.bytes;
  for (const int index : part.tensors) {
    if (index < 0 || static_cast<size_t>(index) >= manifest.tensors.size()) {
      return Bad(absl::StrCat(what, ": there is no tensor ", index));
    }
    const PackManifest::Tensor& tensor = manifest.tensors[static_cast<size_t>(index)];
    if (tensor.run.bytes != tensor_bytes || tensor.type != part.type || used[index]) {
      return Bad(absl::StrCat(what, " is not what tensor ", index, " holds"));
    }
    used[index] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckLayers(const PackManifest& manifest) {
  const auto num_layers = static_cast<int64_t>(manifest.layers.size());
  if (num_layers < 1 || manifest.num_experts < 1 || manifest.num_used < 1 ||
      manifest.num_used > manifest.num_experts || num_layers > kMaxExperts / manifest.num_experts) {
    return Bad(absl::StrCat("no model has ", num_layers, " layers of ", manifest.num_experts,
                            " experts, ", manifest.num_used, " used"));
  }
  std::vector<bool> used(manifest.tensors.size());
  int last_block = -1;
  for (const PackManifest::Layer& layer : manifest.layers) {
    if (layer.block <= last_block || layer.parts.empty() || layer.parts.size() > 3 ||
        layer.blobs.size() != static_cast<size_t>(manifest.num_experts)) {
      return Bad(absl::StrCat("layer ", layer.block, " is out of order, or has ",
                              layer.parts.size(), " parts and ", layer.blobs.size(), " blobs"));
    }
    last_block = layer.block;
    for (const PackManifest::Part& part : layer.parts) {
      RETURN_IF_ERROR(CheckPart(manifest, layer, part, used));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTensors(const PackManifest& manifest) {
  const auto num_shards = static_cast<int>(manifest.shards.size());
  for (const PackManifest::Tensor& tensor : manifest.tensors) {
    if (tensor.dims.size() > GgufTensor::kMaxDims) {
      return Bad(absl::StrCat("a tensor has ", tensor.dims.size(), " dims"));
    }
    if (0 <= tensor.run.shard && tensor.run.shard < num_shards) continue;
    return Bad(absl::StrCat("a tensor is in shard ", tensor.run.shard, " of ", num_shards));
  }
  for (const Run& rest : manifest.rests) {
    if (0 <= rest.shard && rest.shard < num_shards && rest.bytes > 0) continue;
    return Bad(absl::StrCat("a run of ", rest.bytes, " bytes is in shard ", rest.shard, " of ",
                            num_shards));
  }
  return absl::OkStatus();
}

}  // namespace

Run PackManifest::SliceOf(size_t layer, size_t part, int expert) const {
  const Part& matrix = layers[layer].parts[part];
  const bool merged = matrix.is_merged();
  Run run = tensors[static_cast<size_t>(matrix.tensors[merged ? 0 : expert])].run;
  if (merged) run.offset += matrix.bytes * expert;
  run.bytes = matrix.bytes;
  run.hash = matrix.slices[static_cast<size_t>(expert)];
  return run;
}

std::vector<int64_t> PackManifest::BlobBytes() const {
  std::vector<int64_t> bytes;
  bytes.reserve(static_cast<size_t>(num_all_experts()));
  for (const Layer& layer : layers) {
    bytes.insert(bytes.end(), static_cast<size_t>(num_experts), layer.layout().bytes());
  }
  return bytes;
}

std::vector<Checksum> PackManifest::BlobHashes() const {
  std::vector<Checksum> hashes;
  hashes.reserve(static_cast<size_t>(num_all_experts()));
  for (const Layer& layer : layers) {
    hashes.insert(hashes.end(), layer.blobs.begin(), layer.blobs.end());
  }
  return hashes;
}

std::vector<Checksum> PackManifest::ShardHashes() const {
  std::vector<Checksum> hashes;
  for (const std::vector<const Run*>& runs : RunsByShard(*this)) hashes.push_back(HashOf(runs));
  return hashes;
}

absl::Status CheckManifest(const PackManifest& manifest) {
  RETURN_IF_ERROR(CheckTensors(manifest));
  const std::vector<std::vector<const Run*>> runs = RunsByShard(manifest);
  for (size_t shard = 0; shard < runs.size(); ++shard) {
    RETURN_IF_ERROR(CheckShard(manifest.shards[shard], shard, runs[shard]));
  }
  RETURN_IF_ERROR(CheckLayers(manifest));
  if (!manifest.layout.has_value()) return absl::OkStatus();
  const std::string wrong = manifest.layout->WhyNot(manifest.BlobBytes());
  return wrong.empty() ? absl::OkStatus() : Bad(wrong);
}

}  // namespace strata
