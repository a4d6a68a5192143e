#include "strata/cache/experts/model_identity.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/tensor_place.h"
#include "strata/core/little_endian.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// Far above any model, and small enough that no sum of sizes passes 63 bits.
constexpr uint64_t kMaxExpertsOfLayer = 1 << 16;
constexpr uint64_t kMaxExperts = 1 << 24;
constexpr uint64_t kMaxBlobBytes = uint64_t{1} << 38;
constexpr uint64_t kLayerBytes = 20;  // In a file.

bool IsLayer(const ExpertGeometry::Layer& layer) {
  return 0 < layer.expert_bytes && layer.expert_bytes <= layer.blob_bytes &&
         static_cast<uint64_t>(layer.blob_bytes) <= kMaxBlobBytes;
}

bool AreCounts(uint64_t num_layers, uint64_t num_experts, uint64_t num_used) {
  return 0 < num_layers && num_layers <= kMaxExperts && 0 < num_experts &&
         num_experts <= kMaxExpertsOfLayer && num_layers * num_experts <= kMaxExperts &&
         0 < num_used && num_used <= num_experts;
}

absl::Status BadCounts(uint64_t num_layers, uint64_t num_experts, uint64_t num_used) {
  return InputError("bad_geometry", "",
                    absl::StrCat("no model has ", num_layers, " layers of ", num_experts,
                                 " experts, ", num_used, " used"));
}

absl::Status CheckGeometry(const ExpertGeometry& geometry) {
  const auto experts = static_cast<uint64_t>(geometry.num_experts());
  const auto used = static_cast<uint64_t>(geometry.num_used());
  if (!AreCounts(geometry.layers().size(), experts, used)) {
    return BadCounts(geometry.layers().size(), experts, used);
  }
  for (const ExpertGeometry::Layer& layer : geometry.layers()) {
    if (IsLayer(layer)) continue;
    return InputError("bad_geometry", "",
                      absl::StrCat("layer ", layer.block, " has experts of ", layer.blob_bytes,
                                   " bytes, ", layer.expert_bytes, " in the file"));
  }
  return absl::OkStatus();
}

// Which expert a token goes to depends on these: the router, its bias, the bias of the choice.
bool IsOfRouter(absl::string_view name) {
  const absl::string_view part = name.substr(std::min(name.size(), name.rfind('.')));
  absl::string_view stem = name.substr(0, name.size() - part.size());
  stem.remove_prefix(std::min(stem.size(), stem.rfind('.') + 1));
  return stem == "ffn_gate_inp" || stem == "exp_probs_b";
}

// In an order that does not depend on the files.
std::vector<const GgufTensor*> ByName(std::vector<const GgufTensor*> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->name < b->name; });
  return tensors;
}

void AddRecord(const GgufTensor& tensor, ChecksumBuilder& hash) {
  LittleEndianWriter record;
  record.Number(uint64_t{tensor.name.size()}).Raw(tensor.name);
  record.Number(static_cast<uint32_t>(tensor.type)).Number(uint32_t(tensor.num_dims));
  for (const int64_t dim : tensor.dims()) record.Number(dim);
  hash.Add(record.bytes());
}

bool IsSorted(const std::vector<ExpertGeometry::Layer>& layers) {
  return std::adjacent_find(layers.begin(), layers.end(),
                            [](const ExpertGeometry::Layer& a, const ExpertGeometry::Layer& b) {
                              return a.block >= b.block;
                            }) == layers.end();
}

}  // namespace

absl::StatusOr<ModelIdentity> ModelIdentity::Of(const GgufFile& file, const ExpertLayout& layout) {
  if (layout.empty()) {
    return InputError("no_experts", file.path(), "a dense model: it has no routed experts");
  }
  ModelIdentity identity = {.geometry = ExpertGeometry(layout)};
  if (const absl::Status status = CheckGeometry(identity.geometry); !status.ok()) {
    return WithFile(status, file.path());
  }
  std::vector<const GgufTensor*> routers, experts;
  for (const GgufTensor& tensor : file.tensors()) {
    const TensorPlace place = ClassifyTensor(tensor.name);
    if (identity.geometry.FindLayer(place.block) < 0) continue;
    if (place.kind == TensorKind::kExpert) experts.push_back(&tensor);
    if (IsOfRouter(tensor.name)) routers.push_back(&tensor);
  }
  ChecksumBuilder router_hash, expert_hash;
  for (const GgufTensor* tensor : ByName(std::move(routers))) {
    AddRecord(*tensor, router_hash);
    router_hash.Add(file.Data(*tensor));
  }
  for (const GgufTensor* tensor : ByName(std::move(experts))) AddRecord(*tensor, expert_hash);
  RETURN_IF_ERROR(file.CheckUnchanged());
  identity.routers = router_hash.Finish();
  identity.experts = expert_hash.Finish();
  return identity;
}

absl::Status ModelIdentity::CheckIs(const ModelIdentity& model) const {
  if (*this == model) return absl::OkStatus();
  std::string what;
  const std::string found = geometry.Describe(), expected = model.geometry.Describe();
  if (found != expected) {
    what = absl::StrCat("it is of ", found, "; expected are ", expected);
  } else if (routers != model.routers) {
    what = absl::StrCat("routers of the same shape, with other contents (", routers.ToHex(),
                        "; expected are ", model.routers.ToHex(), ")");
  } else {
    what =
        "the routers are the same, but the expert tensors have other types or dims: another "
        "quantization of the model";
  }
  return InputError("profile_mismatch", "", absl::StrCat("made with another model: ", what));
}

void ModelIdentity::AppendTo(LittleEndianWriter& writer) const {
  writer.Number(static_cast<uint32_t>(geometry.layers().size()))
      .Number(static_cast<uint32_t>(geometry.num_experts()))
      .Number(static_cast<uint32_t>(geometry.num_used()));
  for (const Checksum& hash : {routers, experts}) writer.Number(hash.low).Number(hash.high);
  for (const ExpertGeometry::Layer& layer : geometry.layers()) {
    writer.Number(static_cast<uint32_t>(layer.block))
        .Number(static_cast<uint64_t>(layer.blob_bytes))
        .Number(static_cast<uint64_t>(layer.expert_bytes));
  }
}

absl::StatusOr<ModelIdentity> ModelIdentity::Read(LittleEndianReader& reader) {
  const uint64_t num_layers = reader.Number<uint32_t>();
  const uint64_t num_experts = reader.Number<uint32_t>();
  const uint64_t num_used = reader.Number<uint32_t>();
  ModelIdentity identity;
  for (Checksum* hash : {&identity.routers, &identity.experts}) {
    hash->low = reader.Number<uint64_t>();
    hash->high = reader.Number<uint64_t>();
  }
  const absl::Status truncated =
      InputError("truncated", "", "it ends inside the description of its model");
  if (reader.failed()) return truncated;
  if (!AreCounts(num_layers, num_experts, num_used)) {
    return BadCounts(num_layers, num_experts, num_used);
  }
  if (num_layers > reader.bytes_left() / kLayerBytes) return truncated;
  std::vector<ExpertGeometry::Layer> layers(num_layers);
  for (ExpertGeometry::Layer& layer : layers) {
    const auto block = reader.Number<uint32_t>();
    const auto blob_bytes = reader.Number<uint64_t>();
    const auto expert_bytes = reader.Number<uint64_t>();
    if (block > uint32_t{std::numeric_limits<int32_t>::max()} || blob_bytes > kMaxBlobBytes) {
      return InputError("bad_geometry", "",
                        absl::StrCat("block ", block, " with experts of ", blob_bytes, " bytes"));
    }
    // More bytes than the blob's do not fit it either, however many.
    layer = {.block = static_cast<int>(block),
             .blob_bytes = static_cast<int64_t>(blob_bytes),
             .expert_bytes = static_cast<int64_t>(std::min(expert_bytes, blob_bytes + 1))};
  }
  if (!IsSorted(layers)) return InputError("bad_geometry", "", "its layers are out of order");
  identity.geometry =
      ExpertGeometry(std::move(layers), static_cast<int>(num_experts), static_cast<int>(num_used));
  RETURN_IF_ERROR(CheckGeometry(identity.geometry));
  return identity;
}

}  // namespace strata
