#include "strata/core/gguf/gguf_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "strata/core/block_type.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_shard.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/utf8.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

std::string Text(absl::string_view text) { return std::string(text); }

Json StringJson(absl::string_view text) {
  if (IsUtf8(text)) return Text(text);
  return Json{{"bytes_hex", absl::BytesToHexString(text)}};
}

Json NumberJson(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

// Arrays in arrays recurse, as deep as GgufHeader lets them be.
Json ArrayJson(GgufArray array, const GgufJsonOptions& options) {
  Json::array_t items;
  items.reserve(static_cast<size_t>(std::min(array.size(), options.max_items)));
  for (const GgufValue item : array) {
    if (static_cast<int64_t>(items.size()) >= options.max_items) break;
    items.push_back(ValueJson(item, options));
  }
  return Json{{"of", Text(NameOf(array.element_type()))},
              {"count", array.size()},
              {"items", std::move(items)}};
}

Json KeysJson(const GgufShard& shard, const GgufJsonOptions& options) {
  Json keys = Json::array();
  for (const GgufKey& key : shard.keys()) {
    keys.push_back({{"key", Text(key.key)},
                    {"type", Text(NameOf(key.value.type()))},
                    {"value", ValueJson(key.value, options)}});
  }
  return keys;
}

Json TensorJson(const GgufTensor& tensor, const GgufJsonOptions& options) {
  Json json = {{"name", Text(tensor.name)},
               {"type", Text(InfoOf(tensor.type).name)},
               {"type_id", static_cast<uint32_t>(tensor.type)},
               {"dims", std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end())},
               {"offset", tensor.offset},
               {"file_offset", tensor.file_offset},
               {"bytes", tensor.bytes}};
  if (options.sha256) json["sha256"] = options.sha256(tensor);
  return json;
}

Json ShardJson(const GgufShard& shard, const GgufJsonOptions& options) {
  Json json = {{"version", shard.version()},      {"endian", "little"},
               {"alignment", shard.alignment()},  {"tensor_count", shard.tensors().size()},
               {"kv_count", shard.keys().size()}, {"file_bytes", shard.mapping().size()}};
  if (!shard.tensors().empty()) json["data_offset"] = shard.data_offset();
  json["kv"] = KeysJson(shard, options);
  json["tensors"] = Json::array();
  for (const GgufTensor& tensor : shard.tensors()) {
    json["tensors"].push_back(TensorJson(tensor, options));
  }
  return json;
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Json ValueJson(GgufValue value, const GgufJsonOptions& options) {
  switch (value.type()) {
    case GgufType::kString:
      return StringJson(*value.AsString());
    case GgufType::kArray:
      return ArrayJson(*value.AsArray(), options);
    case GgufType::kBool:
      return *value.AsBool();
    case GgufType::kF32:
    case GgufType::kF64:
      return NumberJson(*value.AsDouble());
    case GgufType::kU64:
      return *value.AsUint();
    default:
      return *value.AsInt();
  }
}

Json FileJson(const GgufFile& file, const GgufJsonOptions& options) {
  if (!file.is_split()) return ShardJson(*file.shards()[0], options);
  Json json = {{"shard_count", file.shards().size()},
               {"tensor_count", file.tensors().size()},
               {"tensors", Json::array()},
               {"shards", Json::array()}};
  for (size_t i = 0; i < file.shards().size(); ++i) {
    Json shard = ShardJson(*file.shards()[i], options);
    for (Json tensor : shard["tensors"]) {
      tensor["shard"] = i;
      tensor["shard_file"] = FileName(file.shards()[i]->path());
      json["tensors"].push_back(std::move(tensor));
    }
    json["shards"].push_back(std::move(shard));
  }
  return json;
}

Json MoeJson(const ExpertLayout& layout) {
  if (layout.empty()) return nullptr;
  Json roles = Json::array();
  int64_t smallest = std::numeric_limits<int64_t>::max();
  int64_t largest = 0;
  int64_t total = 0;
  for (const int layer : layout.layers()) {
    for (const ExpertMatrix& matrix : layout.Matrices(layer)) {
      roles.push_back({{"layer", layer},
                       {"role", Text(NameOf(matrix.first.role))},
                       {"type", Text(InfoOf(matrix.first.type).name)},
                       {"expert_bytes", matrix.first.bytes}});
    }
    const int64_t blob_bytes = layout.BlobBytes(layer);
    smallest = std::min(smallest, blob_bytes);
    largest = std::max(largest, blob_bytes);
    total += blob_bytes * layout.num_experts();
  }
  return Json{{"layers", std::vector<int>(layout.layers().begin(), layout.layers().end())},
              {"nextn_layers",
               std::vector<int>(layout.nextn_layers().begin(), layout.nextn_layers().end())},
              {"experts", layout.num_experts()},
              {"used", layout.num_used()},
              {"layout", Text(NameOf(layout.form()))},
              {"roles", std::move(roles)},
              {"blob_bytes", {{"min", smallest}, {"max", largest}, {"total", total}}}};
}

}  // namespace strata
