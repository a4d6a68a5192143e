#include "strata/cache/pack/pack_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/tensor_place.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

using Run = PackManifest::Run;

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What of a shard no tensor holds. No two tensors overlap.
void AddRests(const PackManifest& manifest, int shard, int64_t shard_bytes,
              std::vector<Run>& rests) {
  std::vector<Run> runs;
  for (const PackManifest::Tensor& tensor : manifest.tensors) {
    if (tensor.run.shard == shard && tensor.run.bytes > 0) runs.push_back(tensor.run);
  }
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a.offset < b.offset; });
  runs.push_back({.shard = shard, .offset = shard_bytes});
  int64_t end = 0;
  for (const Run& run : runs) {
    if (run.offset > end)
      rests.push_back({.shard = shard, .offset = end, .bytes = run.offset - end});
    end = run.end();
  }
}

// Experts' tensors are known by where their slices begin.
class TensorsByLocation {
 public:
  explicit TensorsByLocation(const PackManifest& manifest) {
    for (size_t i = 0; i < manifest.tensors.size(); ++i) {
      const Run& run = manifest.tensors[i].run;
      if (run.bytes > 0) by_location_[{run.shard, run.offset}] = static_cast<int>(i);
    }
  }
  int At(int shard, int64_t offset) const {
    const auto found = by_location_.find({shard, offset});
    CHECK(found != by_location_.end()) << "no tensor begins at " << offset;
    return found->second;
  }

 private:
  absl::flat_hash_map<std::pair<int, int64_t>, int> by_location_;
};

PackManifest::Part PlanPart(const ExpertMatrix& matrix, const TensorsByLocation& tensors) {
  PackManifest::Part part = {
      .role = matrix.first.role, .type = matrix.first.type, .bytes = matrix.first.bytes};
  if (matrix.places.empty()) {
    part.tensors.push_back(tensors.At(matrix.first.shard, matrix.first.file_offset));
  }
  for (const ExpertMatrix::Place& place : matrix.places) {
    part.tensors.push_back(tensors.At(place.shard, place.file_offset));
  }
  return part;
}

// "output.weight, F32 of 64 x 8, in shard 0"
std::string Describe(const PackManifest::Tensor& tensor) {
  return absl::StrCat(tensor.name, ", ", InfoOf(tensor.type).name, " of ",
                      absl::StrJoin(tensor.dims, " x "), ", in shard ", tensor.run.shard);
}

std::string Location(const PackManifest::Tensor& tensor) {
  return absl::StrCat(tensor.name, " at byte ", tensor.run.offset, " of shard ", tensor.run.shard);
}

absl::Status Mismatch(const std::string& what) {
  return InputError("pack_mismatch", "", absl::StrCat("the pack is of another model: ", what));
}

// By what `describe` says of them, as far as both have any.
absl::Status CompareTensors(const PackManifest& pack, const PackManifest& model,
                            std::string (*describe)(const PackManifest::Tensor& tensor)) {
  const size_t num_tensors = std::min(pack.tensors.size(), model.tensors.size());
  for (size_t i = 0; i < num_tensors; ++i) {
    const std::string expected = describe(pack.tensors[i]), found = describe(model.tensors[i]);
    if (expected == found) continue;
    return Mismatch(
        absl::StrCat("tensor ", i, " of the pack is ", expected, "; of the model it is ", found));
  }
  return absl::OkStatus();
}

// "layer 3: gate, F32 of 1600 bytes in tensor 17; up, ..."
std::string Describe(const PackManifest::Layer& layer) {
  std::vector<std::string> parts;
  for (const PackManifest::Part& part : layer.parts) {
    parts.push_back(absl::StrCat(NameOf(part.role), ", ", InfoOf(part.type).name, " of ",
                                 part.bytes, " bytes in tensor ",
                                 absl::StrJoin(part.tensors, " and ")));
  }
  return absl::StrCat("layer ", layer.block, ": ", absl::StrJoin(parts, "; "));
}

// Where experts lie in tensors and in blobs is read from the model: of its pack it must be true.
absl::Status CompareLayers(const PackManifest& pack, const PackManifest& model) {
  for (size_t i = 0; i < pack.layers.size(); ++i) {
    const std::string expected = Describe(pack.layers[i]), found = Describe(model.layers[i]);
    if (expected == found) continue;
    return Mismatch(absl::StrCat("the pack has ", expected, "; the model has ", found));
  }
  return absl::OkStatus();
}

}  // namespace

PackManifest PlanManifest(const GgufFile& file, const ExpertLayout& layout,
                          const ModelIdentity& identity) {
  PackManifest manifest = {.routers = identity.routers,
                           .experts = identity.experts,
                           .num_experts = layout.num_experts(),
                           .num_used = layout.num_used()};
  for (const GgufTensor& tensor : file.tensors()) {
    manifest.tensors.push_back(
        {.name = std::string(tensor.name),
         .type = tensor.type,
         .dims = {tensor.dims().begin(), tensor.dims().end()},
         .run = {.shard = tensor.shard, .offset = tensor.file_offset, .bytes = tensor.bytes}});
  }
  for (const auto& shard : file.shards()) {
    const int64_t bytes = shard->mapping().size();
    AddRests(manifest, static_cast<int>(manifest.shards.size()), bytes, manifest.rests);
    manifest.shards.push_back({.name = BaseName(shard->path()), .bytes = bytes});
  }
  const TensorsByLocation tensors(manifest);
  const auto num_experts = static_cast<size_t>(layout.num_experts());
  for (const int block : layout.layers()) {
    PackManifest::Layer& layer = manifest.layers.emplace_back();
    layer.block = block;
    layer.blobs.resize(num_experts);
    for (const ExpertMatrix& matrix : layout.Matrices(block)) {
      layer.parts.push_back(PlanPart(matrix, tensors));
      layer.parts.back().slices.resize(num_experts);
    }
  }
  return manifest;
}

absl::Status CheckIsOf(const PackManifest& pack, const PackManifest& model) {
  if (pack.shards.size() != model.shards.size()) {
    return Mismatch(absl::StrCat("the pack has ", pack.shards.size(), " shards, the model ",
                                 model.shards.size()));
  }
  // What tensors are says more than where they lie.
  RETURN_IF_ERROR(CompareTensors(pack, model, Describe));
  if (pack.tensors.size() != model.tensors.size()) {
    return Mismatch(absl::StrCat("the pack has ", pack.tensors.size(), " tensors, the model ",
                                 model.tensors.size()));
  }
  RETURN_IF_ERROR(CompareTensors(pack, model, Location));
  for (size_t i = 0; i < pack.shards.size(); ++i) {
    if (pack.shards[i].bytes == model.shards[i].bytes) continue;
    return Mismatch(absl::StrCat("shard ", i, " has ", model.shards[i].bytes,
                                 " bytes; in the pack it has ", pack.shards[i].bytes));
  }
  if (pack.num_used != model.num_used || pack.num_experts != model.num_experts ||
      pack.layers.size() != model.layers.size() || pack.experts != model.experts) {
    return Mismatch(absl::StrCat("the pack has ", pack.layers.size(), " layers of ",
                                 pack.num_experts, " experts, ", pack.num_used,
                                 " used; the model has ", model.layers.size(), " of ",
                                 model.num_experts, ", ", model.num_used, " used"));
  }
  RETURN_IF_ERROR(CompareLayers(pack, model));
  if (pack.routers == model.routers) return absl::OkStatus();
  return Mismatch(absl::StrCat("tensors of the same shape, but routers of other contents (",
                               model.routers.ToHex(), "; in the pack ", pack.routers.ToHex(), ")"));
}

}  // namespace strata
