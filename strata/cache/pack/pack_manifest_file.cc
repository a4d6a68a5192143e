#include "strata/cache/pack/pack_manifest_file.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"
#include "strata/cache/pack/pack_layout.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/atomic_file.h"
#include "strata/core/block_type.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kFormat = "strata-pack";
constexpr int kVersion = 1;
constexpr absl::string_view kChecksumMember = ",\n \"checksum\": \"";
constexpr absl::string_view kEnd = "\"\n}\n";
constexpr size_t kTailBytes = kChecksumMember.size() + 32 + kEnd.size();
constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

constexpr ExpertRole kRoles[] = {ExpertRole::kGate, ExpertRole::kUp, ExpertRole::kDown,
                                 ExpertRole::kGateUp};

// ---- Writing ----

Json HashesJson(const std::vector<Checksum>& hashes) {
  Json json = Json::array();
  for (const Checksum& hash : hashes) json.push_back(hash.ToHex());
  return json;
}

void AddRun(const PackManifest::Run& run, Json& json) {
  json["shard"] = run.shard;
  json["offset"] = run.offset;
  json["bytes"] = run.bytes;
  json["xxh3_128"] = run.hash.ToHex();
}

Json TensorJson(const PackManifest::Tensor& tensor) {
  Json json = {{"name", tensor.name}, {"type", InfoOf(tensor.type).name}, {"dims", tensor.dims}};
  AddRun(tensor.run, json);
  return json;
}

Json LayerJson(const PackManifest::Layer& layer) {
  Json parts = Json::array();
  for (const PackManifest::Part& part : layer.parts) {
    parts.push_back({{"role", NameOf(part.role)},
                     {"type", InfoOf(part.type).name},
                     {"bytes", part.bytes},
                     {"tensors", part.tensors},
                     {"slices_xxh3_128", HashesJson(part.slices)}});
  }
  return {{"block", layer.block},
          {"parts", std::move(parts)},
          {"blobs_xxh3_128", HashesJson(layer.blobs)}};
}

Json ManifestJson(const PackManifest& manifest) {
  Json shards = Json::array(), tensors = Json::array(), rests = Json::array(),
       layers = Json::array();
  for (const PackManifest::Shard& shard : manifest.shards) {
    shards.push_back({{"name", shard.name}, {"bytes", shard.bytes}, {"hash", shard.hash.ToHex()}});
  }
  for (const PackManifest::Tensor& tensor : manifest.tensors) {
    tensors.push_back(TensorJson(tensor));
  }
  for (const PackManifest::Run& rest : manifest.rests) AddRun(rest, rests.emplace_back());
  for (const PackManifest::Layer& layer : manifest.layers) layers.push_back(LayerJson(layer));
  Json layout = nullptr;
  if (manifest.layout.has_value()) {
    layout = {{"file", "experts.bin"},
              {"bytes", manifest.layout->bytes},
              {"alignment", PackLayout::kAlignment},
              {"order", manifest.layout->order},
              {"offsets", manifest.layout->offsets}};
  }
  return {
      {"format", kFormat},
      {"version", kVersion},
      {"tool", manifest.tool},
      {"model", manifest.model},
      {"identity", {{"routers", manifest.routers.ToHex()}, {"experts", manifest.experts.ToHex()}}},
      {"geometry",
       {{"layers", manifest.layers.size()},
        {"experts_of_layer", manifest.num_experts},
        {"experts_used", manifest.num_used}}},
      {"shards", std::move(shards)},
      {"tensors", std::move(tensors)},
      {"rests", std::move(rests)},
      {"layers", std::move(layers)},
      {"layout", std::move(layout)}};
}

// ---- Reading ----

// Reads members of objects. The first that is missing or of a wrong kind is remembered; from then
// on every value is empty, so one question after many reads is enough.
class Members {
 public:
  const Json& Get(const Json& object, const char* key) {
    static const Json kNull;
    if (object.is_object()) {
      if (const auto found = object.find(key); found != object.end()) return *found;
    }
    Fail(key);
    return kNull;
  }
  int64_t Int(const Json& value, const char* key, int64_t most = kMaxInt64) {
    if (value.is_number_integer() &&
        (value.is_number_unsigned() ? value.get<uint64_t>() <= static_cast<uint64_t>(most)
                                    : value.get<int64_t>() >= 0)) {
      return value.get<int64_t>();
    }
    Fail(key);
    return 0;
  }
  int64_t IntOf(const Json& object, const char* key, int64_t most = kMaxInt64) {
    return Int(Get(object, key), key, most);
  }
  std::string TextOf(const Json& object, const char* key) {
    const Json& value = Get(object, key);
    if (value.is_string()) return value.get<std::string>();
    Fail(key);
    return "";
  }
  // An array; empty when there is none.
  const Json& ListOf(const Json& object, const char* key) {
    static const Json kEmpty = Json::array();
    const Json& value = Get(object, key);
    if (value.is_array()) return value;
    Fail(key);
    return kEmpty;
  }
  std::vector<int64_t> IntsOf(const Json& object, const char* key, int64_t most = kMaxInt64) {
    std::vector<int64_t> values;
    for (const Json& value : ListOf(object, key)) values.push_back(Int(value, key, most));
    return values;
  }
  Checksum Hash(const Json& value, const char* key) {
    std::optional<Checksum> hash;
    if (value.is_string()) hash = Checksum::FromHex(value.get_ref<const std::string&>());
    if (!hash.has_value()) Fail(key);
    return hash.value_or(Checksum());
  }
  Checksum HashOf(const Json& object, const char* key) { return Hash(Get(object, key), key); }
  std::vector<Checksum> HashesOf(const Json& object, const char* key) {
    std::vector<Checksum> hashes;
    for (const Json& value : ListOf(object, key)) hashes.push_back(Hash(value, key));
    return hashes;
  }
  BlockType TypeOf(const Json& object) {
    const std::string name = TextOf(object, "type");
    for (const BlockTypeInfo& info : AllBlockTypes()) {
      if (info.name == name) return info.type;
    }
    Fail("type");
    return BlockType::kF32;
  }
  ExpertRole RoleOf(const Json& object) {
    const std::string name = TextOf(object, "role");
    for (const ExpertRole role : kRoles) {
      if (NameOf(role) == name) return role;
    }
    Fail("role");
    return ExpertRole::kGate;
  }

  void Fail(const char* key) {
    if (failed_.empty()) failed_ = key;
  }
  // The member that was wrong first; empty when all were right.
  const std::string& failed() const { return failed_; }

 private:
  std::string failed_;
};

PackManifest::Run ReadRun(const Json& json, Members& members) {
  return {.shard = static_cast<int>(members.IntOf(json, "shard", kMaxInt)),
          .offset = members.IntOf(json, "offset"),
          .bytes = members.IntOf(json, "bytes"),
          .hash = members.HashOf(json, "xxh3_128")};
}

PackManifest::Layer ReadLayer(const Json& json, Members& members) {
  PackManifest::Layer layer = {.block = static_cast<int>(members.IntOf(json, "block", kMaxInt))};
  for (const Json& part : members.ListOf(json, "parts")) {
    layer.parts.push_back({.role = members.RoleOf(part),
                           .type = members.TypeOf(part),
                           .bytes = members.IntOf(part, "bytes"),
                           .slices = members.HashesOf(part, "slices_xxh3_128")});
    for (const int64_t tensor : members.IntsOf(part, "tensors", kMaxInt)) {
      layer.parts.back().tensors.push_back(static_cast<int>(tensor));
    }
  }
  layer.blobs = members.HashesOf(json, "blobs_xxh3_128");
  return layer;
}

std::optional<PackLayout> ReadLayout(const Json& json, Members& members) {
  if (json.is_null()) return std::nullopt;
  if (members.TextOf(json, "file") != "experts.bin") members.Fail("file");
  if (members.IntOf(json, "alignment") != PackLayout::kAlignment) members.Fail("alignment");
  return PackLayout{.bytes = members.IntOf(json, "bytes"),
                    .order = members.TextOf(json, "order"),
                    .offsets = members.IntsOf(json, "offsets")};
}

PackManifest ReadManifest(const Json& json, Members& members) {
  const Json& identity = members.Get(json, "identity");
  const Json& geometry = members.Get(json, "geometry");
  PackManifest manifest = {
      .tool = members.TextOf(json, "tool"),
      .model = members.TextOf(json, "model"),
      .routers = members.HashOf(identity, "routers"),
      .experts = members.HashOf(identity, "experts"),
      .num_experts = static_cast<int>(members.IntOf(geometry, "experts_of_layer", kMaxInt)),
      .num_used = static_cast<int>(members.IntOf(geometry, "experts_used", kMaxInt))};
  for (const Json& shard : members.ListOf(json, "shards")) {
    manifest.shards.push_back({.name = members.TextOf(shard, "name"),
                               .bytes = members.IntOf(shard, "bytes"),
                               .hash = members.HashOf(shard, "hash")});
  }
  for (const Json& tensor : members.ListOf(json, "tensors")) {
    manifest.tensors.push_back({.name = members.TextOf(tensor, "name"),
                                .type = members.TypeOf(tensor),
                                .dims = members.IntsOf(tensor, "dims"),
                                .run = ReadRun(tensor, members)});
  }
  for (const Json& rest : members.ListOf(json, "rests")) {
    manifest.rests.push_back(ReadRun(rest, members));
  }
  for (const Json& layer : members.ListOf(json, "layers")) {
    manifest.layers.push_back(ReadLayer(layer, members));
  }
  if (members.IntOf(geometry, "layers") != std::ssize(manifest.layers)) members.Fail("layers");
  manifest.layout = ReadLayout(members.Get(json, "layout"), members);
  return manifest;
}

// Null when it is no JSON. Deeper than any manifest nothing is built, so that taking it down needs no
// more stack than there is; `members` has failed then.
Json ParseJson(absl::string_view text, Members& members) {
  constexpr int kMostDepth = 8;
  const auto is_kept = [&members](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    if (depth > kMostDepth) members.Fail("nested values");
    return depth <= kMostDepth;
  };
  return Json::parse(text.begin(), text.end(), is_kept, /*allow_exceptions=*/false);
}

absl::Status CheckTail(absl::string_view text, absl::string_view path) {
  const absl::string_view body = text.substr(0, text.size() - kTailBytes);
  if (text == WithManifestChecksum(body)) return absl::OkStatus();
  return InputError("bad_checksum", path,
                    absl::StrCat("the manifest is damaged: the ", body.size(),
                                 " bytes before its checksum are not what it says"));
}

}  // namespace

std::string WithManifestChecksum(absl::string_view body) {
  const Checksum checksum =
      ChecksumOf({reinterpret_cast<const std::byte*>(body.data()), body.size()});
  return absl::StrCat(body, kChecksumMember, checksum.ToHex(), kEnd);
}

std::string ManifestText(const PackManifest& manifest) {
  const std::string json =
      ManifestJson(manifest).dump(1, ' ', true, Json::error_handler_t::replace);
  return WithManifestChecksum(absl::StripSuffix(json, "\n}"));
}

absl::StatusOr<PackManifest> ParseManifest(absl::string_view text, absl::string_view path) {
  if (text.size() < kTailBytes || text.substr(0, 1) != "{") {
    return InputError("bad_magic", path, "it is no manifest of a pack");
  }
  RETURN_IF_ERROR(CheckTail(text, path));
  Members members;
  const Json json = ParseJson(text, members);
  if (members.TextOf(json, "format") != kFormat) {
    return InputError("bad_magic", path, "it is no manifest of a pack");
  }
  if (const int64_t version = members.IntOf(json, "version"); version != kVersion) {
    return InputError("bad_version", path,
                      absl::StrCat("version ", version, "; known is ", kVersion));
  }
  PackManifest manifest = ReadManifest(json, members);
  if (!members.failed().empty()) {
    return InputError("bad_manifest", path,
                      absl::StrCat("\"", members.failed(), "\" is missing or wrong"));
  }
  if (const absl::Status sound = CheckManifest(manifest); !sound.ok()) {
    return WithFile(sound, path);
  }
  return manifest;
}

absl::StatusOr<PackManifest> LoadManifest(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  const std::string text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  RETURN_IF_ERROR(file->CheckUnchanged());
  return ParseManifest(text, path);
}

absl::Status SaveManifest(const PackManifest& manifest, const std::string& path) {
  const std::string text = ManifestText(manifest);
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Append(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size())));
  return file.Commit();
}

}  // namespace strata
