#include "strata/cache/pack/pack_items.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/cache/pack/pack_layout.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/tensor_place.h"

namespace strata {
namespace {

using Kind = PackItem::Kind;

constexpr int64_t kSmallBytes = int64_t{1} << 20;

void SortByLocation(std::vector<PackItem>& items) {
  std::stable_sort(items.begin(), items.end(), [](const PackItem& a, const PackItem& b) {
    return std::tuple(a.run.shard, a.run.offset) < std::tuple(b.run.shard, b.run.offset);
  });
}

// The parts of a blob, and zeros up to the next blob.
void AddBlob(const PackManifest& manifest, size_t layer, int expert, std::vector<PackItem>& items) {
  const PackManifest::Layer& of = manifest.layers[layer];
  const BlobLayout blob = of.layout();
  const size_t number =
      layer * static_cast<size_t>(manifest.num_experts) + static_cast<size_t>(expert);
  const int64_t start = manifest.layout->offsets[number];
  const int64_t end = start + PackLayout::Padded(blob.bytes());
  for (size_t part = 0; part < of.parts.size(); ++part) {
    const int64_t offset = start + blob.offset(static_cast<int>(part));
    const bool is_last = part + 1 == of.parts.size();
    const int64_t next = is_last ? end : start + blob.offset(static_cast<int>(part) + 1);
    PackItem item = {.kind = Kind::kBlobPart,
                     .run = {.shard = PackItem::kExpertsFile,
                             .offset = offset,
                             .bytes = of.parts[part].bytes,
                             .hash = of.parts[part].slices[static_cast<size_t>(expert)]},
                     .layer = layer,
                     .expert = expert,
                     .part = part};
    items.push_back(item);
    item.kind = Kind::kPadding;
    item.run = {
        .shard = PackItem::kExpertsFile, .offset = item.run.end(), .bytes = next - item.run.end()};
    if (item.run.bytes > 0) items.push_back(item);
  }
}

}  // namespace

absl::string_view NameOf(Kind kind) {
  constexpr absl::string_view kNames[] = {"rest", "tensor", "slice", "blob", "padding", "header"};
  return kNames[static_cast<int>(kind)];
}

std::vector<PackItem> ModelItems(const PackManifest& manifest) {
  std::vector<PackItem> items;
  std::vector<bool> has_experts(manifest.tensors.size());
  for (size_t layer = 0; layer < manifest.layers.size(); ++layer) {
    for (size_t part = 0; part < manifest.layers[layer].parts.size(); ++part) {
      for (const int tensor : manifest.layers[layer].parts[part].tensors) {
        has_experts[static_cast<size_t>(tensor)] = true;
      }
      for (int expert = 0; expert < manifest.num_experts; ++expert) {
        items.push_back({.kind = Kind::kSlice,
                         .run = manifest.SliceOf(layer, part, expert),
                         .layer = layer,
                         .expert = expert,
                         .part = part});
      }
    }
  }
  for (size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (has_experts[i]) continue;
    items.push_back({.kind = Kind::kTensor, .run = manifest.tensors[i].run, .tensor = i});
  }
  for (const PackManifest::Run& rest : manifest.rests) {
    items.push_back({.kind = Kind::kRest, .run = rest});
  }
  SortByLocation(items);
  return items;
}

std::vector<PackItem> ExpertsItems(const PackManifest& manifest) {
  std::vector<PackItem> items;
  if (!manifest.layout.has_value()) return items;
  items.push_back({.kind = Kind::kHeader,
                   .run = {.shard = PackItem::kExpertsFile, .bytes = PackLayout::kHeaderBytes}});
  for (size_t layer = 0; layer < manifest.layers.size(); ++layer) {
    for (int expert = 0; expert < manifest.num_experts; ++expert) {
      AddBlob(manifest, layer, expert, items);
    }
  }
  SortByLocation(items);
  return items;
}

std::vector<PackItem> Sample(const PackManifest& manifest, const std::vector<PackItem>& items) {
  std::vector<PackItem> sample;
  for (const PackItem& item : items) {
    const bool is_of_expert =
        item.kind == Kind::kSlice || item.kind == Kind::kBlobPart || item.kind == Kind::kPadding;
    // Another one in each layer.
    const int chosen = static_cast<int>(item.layer * 7 % static_cast<size_t>(manifest.num_experts));
    if (is_of_expert ? item.expert == chosen : item.run.bytes <= kSmallBytes) {
      sample.push_back(item);
    }
  }
  return sample;
}

std::string Describe(const PackManifest& manifest, const PackItem& item) {
  const std::string shard = absl::StrCat("shard ", item.run.shard);
  const auto expert = [&] {
    return absl::StrCat("layer ", manifest.layers[item.layer].block, ", expert ", item.expert, ", ",
                        NameOf(manifest.layers[item.layer].parts[item.part].role));
  };
  switch (item.kind) {
    case Kind::kRest:
      return item.run.offset == 0 ? absl::StrCat("the header of ", shard)
                                  : absl::StrCat("what lies between tensors of ", shard);
    case Kind::kTensor:
      return absl::StrCat("tensor ", manifest.tensors[item.tensor].name, " in ", shard);
    case Kind::kSlice:
      return absl::StrCat(expert(), " in ", shard);
    case Kind::kBlobPart:
      return absl::StrCat(expert(), " in experts.bin");
    case Kind::kPadding:
      return absl::StrCat("the padding after ", expert(), " in experts.bin");
    case Kind::kHeader:
      break;
  }
  return "the header of experts.bin";
}

}  // namespace strata
