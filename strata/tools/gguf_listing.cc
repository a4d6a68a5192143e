#include "strata/tools/gguf_listing.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/text_table.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/printable.h"

namespace strata {
namespace {

constexpr int kShownElements = 6;
constexpr size_t kShownTextBytes = 120;
constexpr size_t kShownElementTextBytes = 24;

// `text_bytes` is what may be shown of a string, here and in arrays below.
std::string Text(GgufValue value, size_t text_bytes) {
  if (const std::optional<absl::string_view> text = value.AsString()) {
    const bool cut = text->size() > text_bytes;
    return absl::StrCat("\"", Printable(*text, text_bytes), "\"",
                        cut ? absl::StrCat(" (", text->size(), " bytes)") : "");
  }
  if (const std::optional<GgufArray> array = value.AsArray()) {
    std::vector<std::string> shown;
    for (GgufValue element : *array) {
      if (shown.size() == kShownElements) break;
      shown.push_back(Text(element, kShownElementTextBytes));
    }
    if (array->size() > kShownElements) shown.push_back("...");
    return absl::StrCat("[", absl::StrJoin(shown, ", "), "] (", array->size(), " ",
                        NameOf(array->element_type()), ")");
  }
  if (const std::optional<bool> truth = value.AsBool()) return *truth ? "true" : "false";
  if (const std::optional<double> number = value.AsDouble()) return absl::StrCat(*number);
  if (const std::optional<int64_t> number = value.AsInt()) return absl::StrCat(*number);
  return absl::StrCat(value.AsUint().value_or(0));
}

std::string FileName(const GgufShard& shard) {
  return Printable(std::filesystem::path(shard.path()).filename().string(), kShownTextBytes);
}

}  // namespace

std::string ValueText(GgufValue value) { return Text(value, kShownTextBytes); }

std::string DimsText(absl::Span<const int64_t> dims) {
  return dims.empty() ? "scalar" : absl::StrJoin(dims, " x ");
}

std::string MetadataText(const GgufFile& file) {
  std::string text;
  for (const std::unique_ptr<GgufShard>& shard : file.shards()) {
    TextTable table("lll");
    for (const GgufKey& key : shard->keys()) {
      table.AddRow({Printable(key.key, kShownTextBytes), std::string(NameOf(key.value.type())),
                    ValueText(key.value)});
    }
    absl::StrAppend(&text, "metadata of ", FileName(*shard), ": ", shard->keys().size(), " keys\n",
                    table.ToString(2));
  }
  return text;
}

std::string TensorsText(const GgufFile& file, const TensorHashes& hashes) {
  const bool split = file.is_split(), hashed = !hashes.empty();
  TextTable table("lllrrll");
  table.AddRow({"name", "type", "dims", "bytes", "file offset", split ? "shard" : "",
                hashed ? "sha256" : ""});
  for (const GgufTensor& tensor : file.tensors()) {
    table.AddRow({Printable(tensor.name, kShownTextBytes), std::string(InfoOf(tensor.type).name),
                  DimsText(tensor.dims()), absl::StrCat(tensor.bytes),
                  absl::StrCat(tensor.file_offset), split ? absl::StrCat(tensor.shard + 1) : "",
                  hashed ? hashes.at(tensor.name) : ""});
  }
  return absl::StrCat("tensors: ", file.tensors().size(), "\n", table.ToString(2));
}

}  // namespace strata
