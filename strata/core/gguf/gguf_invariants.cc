#include "strata/core/gguf/gguf_invariants.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_json.h"
#include "strata/core/gguf/gguf_shard.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/parameter_count.h"

namespace strata {
namespace {

constexpr absl::string_view kContainerKinds[] = {
    "array_too_long",
    "bad_alignment",
    "bad_bool",
    "bad_dims",
    "bad_key",
    "bad_magic",
    "bad_name",
    "bad_offset",
    "bad_type",
    "bad_value_type",
    "bad_version",
    "changed",
    "count_too_large",
    "duplicate_key",
    "duplicate_tensor",
    "endianness",
    "io",
    "nesting_too_deep",
    "out_of_file",
    "overlap",
    "row_not_whole_blocks",
    "size_overflow",
    "split_count",
    "split_key_missing",
    "split_key_type",
    "split_missing",
    "split_mixed_models",
    "split_name",
    "split_not_first",
    "split_order",
    "split_tensors",
    "string_too_long",
    "truncated",
};
constexpr absl::string_view kModelKinds[] = {
    "hparams",        "key_type",    "moe_counts",   "moe_types",        "tensor_ambiguous",
    "tensor_missing", "tensor_name", "tensor_shape", "unsupported_arch",
};

std::string BrokenRefusal(const absl::Status& status, absl::Span<const absl::string_view> kinds) {
  if (std::find(kinds.begin(), kinds.end(), ErrorKind(status)) == kinds.end()) {
    return absl::StrCat("a refusal of kind '", ErrorKind(status), "': ", status.ToString());
  }
  if (ErrorFile(status).empty()) return absl::StrCat("names no file: ", status.ToString());
  return "";
}

// The bytes that a tensor's dims and type ask for, in 128 bits.
unsigned __int128 WantedBytes(const GgufTensor& tensor) {
  const BlockTypeInfo& info = InfoOf(tensor.type);
  unsigned __int128 elements = 1;
  for (const int64_t dim : tensor.dims()) elements *= static_cast<uint64_t>(dim);
  return elements / static_cast<unsigned>(info.block_weights) *
         static_cast<unsigned>(info.block_bytes);
}

std::string BrokenTensor(const GgufFile& file, const GgufShard& shard, const GgufTensor& tensor) {
  const auto is_broken = [&](absl::string_view what) {
    return absl::StrCat("tensor ", tensor.name, ": ", what);
  };
  if (&shard != file.shards()[static_cast<size_t>(tensor.shard)].get()) return is_broken("shard");
  if (file.FindTensor(tensor.name) != &tensor) return is_broken("is not found by its name");
  if (WantedBytes(tensor) != static_cast<unsigned __int128>(tensor.bytes)) {
    return is_broken("bytes do not follow from type and dims");
  }
  if (tensor.file_offset != shard.data_offset() + tensor.offset ||
      tensor.offset % shard.alignment() != 0) {
    return is_broken("offset");
  }
  if (tensor.file_offset < 0 || tensor.bytes < 0 || tensor.file_offset > shard.mapping().size() ||
      tensor.bytes > shard.mapping().size() - tensor.file_offset) {
    return is_broken("lies outside its file");
  }
  const absl::Span<const std::byte> data = file.Data(tensor);
  const volatile std::byte* const bytes = data.data();
  if (!data.empty()) static_cast<void>((bytes[0], bytes[data.size() - 1]));
  return "";
}

std::string BrokenOverlap(const GgufShard& shard) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const GgufTensor& tensor : shard.tensors()) {
    if (tensor.bytes > 0) ranges.emplace_back(tensor.file_offset, tensor.bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i - 1].first + ranges[i - 1].second > ranges[i].first) return "tensors overlap";
  }
  return "";
}

std::string BrokenShard(const GgufFile& file, const GgufShard& shard) {
  for (const GgufKey& key : shard.keys()) {
    if (shard.Find(key.key) != &key.value) return absl::StrCat("key ", key.key, " is not found");
  }
  for (const GgufTensor& tensor : shard.tensors()) {
    if (std::string broken = BrokenTensor(file, shard, tensor); !broken.empty()) return broken;
  }
  if (shard.trailing_bytes() < 0) return "a negative number of trailing bytes";
  return BrokenOverlap(shard);
}

std::string BrokenLayout(const GgufFile& file, const ExpertLayout& layout) {
  std::vector<int> layers(layout.layers().begin(), layout.layers().end());
  layers.insert(layers.end(), layout.nextn_layers().begin(), layout.nextn_layers().end());
  for (const int layer : layers) {
    for (const int index : {0, layout.num_experts() - 1}) {
      const ExpertSlices slices = layout.Slices({layer, index});
      for (const ExpertSlice& slice : slices) {
        const int64_t size = file.shards()[static_cast<size_t>(slice.shard)]->mapping().size();
        if (slice.bytes <= 0 || slice.file_offset < 0 || slice.file_offset > size ||
            slice.bytes > size - slice.file_offset) {
          return absl::StrCat("an expert of layer ", layer, " lies outside its file");
        }
      }
    }
  }
  return "";
}

std::string BrokenModel(const GgufFile& file) {
  const absl::StatusOr<ModelConfig> config = ModelConfig::Create(file);
  if (!config.ok()) return BrokenRefusal(config.status(), kModelKinds);
  const absl::StatusOr<ExpertLayout> layout = ExpertLayout::Create(file, *config);
  if (!layout.ok()) return BrokenRefusal(layout.status(), kModelKinds);
  static_cast<void>(MoeJson(*layout).dump());
  const ParameterCount count = CountParameters(file, *config, *layout);
  if (count.active < 0 || count.active > count.total) return "active parameters";
  return BrokenLayout(file, *layout);
}

}  // namespace

std::string BrokenInvariant(const absl::StatusOr<std::unique_ptr<GgufFile>>& file) {
  if (!file.ok()) return BrokenRefusal(file.status(), kContainerKinds);
  for (const std::unique_ptr<GgufShard>& shard : (*file)->shards()) {
    if (std::string broken = BrokenShard(**file, *shard); !broken.empty()) return broken;
  }
  // Reads every value, and throws on text that is no UTF-8.
  static_cast<void>(FileJson(**file, {}).dump());
  return BrokenModel(**file);
}

}  // namespace strata
