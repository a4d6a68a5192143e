#include "strata/tools/model_screen.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/text_table.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/tensor_bytes.h"
#include "strata/core/gguf/tensor_place.h"
#include "strata/core/printable.h"
#include "strata/tools/model_view.h"
#include "strata/tools/weight_mix.h"

namespace strata {
namespace {

constexpr size_t kNameBytes = 100;

std::string TextOfKey(const GgufFile& file, absl::string_view key) {
  const GgufValue* value = file.FindKey(key);
  const std::optional<absl::string_view> text = value == nullptr ? std::nullopt : value->AsString();
  return text.has_value() ? Printable(*text, kNameBytes) : "";
}

std::string Plural(int64_t count, absl::string_view one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

// "30.5 billion", "19.7 million", "8192".
std::string Count(int64_t number) {
  const double value = static_cast<double>(number);
  if (value >= 1e9) return absl::StrFormat("%.1f billion", value / 1e9);
  if (value >= 1e6) return absl::StrFormat("%.1f million", value / 1e6);
  return absl::StrCat(number);
}

// Whole percents; neither a little nor nearly all is rounded away.
std::string Share(int64_t part, int64_t whole) {
  if (whole == 0) return "0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && percent < 1) return "under 1 %";
  if (part < whole && percent > 99) return "over 99 %";
  return absl::StrFormat("%.0f %%", percent);
}

// "4", or "4 to 32" where blocks differ.
std::string Range(const PerBlock& numbers) {
  const auto [low, high] = std::minmax_element(numbers.values().begin(), numbers.values().end());
  return *low == *high ? absl::StrCat(*low) : absl::StrCat(*low, " to ", *high);
}

int64_t FileBytes(const GgufFile& file) {
  int64_t bytes = 0;
  for (const std::unique_ptr<GgufShard>& shard : file.shards()) bytes += shard->mapping().size();
  return bytes;
}

int64_t TensorBytes(const GgufFile& file) {
  int64_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) bytes += tensor.bytes;
  return bytes;
}

// Rows of the screen: a label and what it says.
class Screen {
 public:
  Screen() : table_("ll") {}
  void Row(absl::string_view label, std::string text) {
    table_.AddRow({std::string(label), std::move(text)});
  }
  std::string ToString() const { return table_.ToString(); }

 private:
  TextTable table_;
};

void AddFile(const GgufFile& file, Screen& screen) {
  const std::string name =
      Printable(std::filesystem::path(file.path()).filename().string(), kNameBytes);
  const std::string shards =
      file.is_split()
          ? absl::StrCat(Plural(static_cast<int64_t>(file.shards().size()), "shard"), ", ")
          : "";
  screen.Row("file",
             absl::StrCat(name, ", ", shards, FormatByteSize(FileBytes(file)), ", GGUF version ",
                          file.shards()[0]->version(), ", ",
                          Plural(static_cast<int64_t>(file.tensors().size()), "tensor"), ", ",
                          Plural(static_cast<int64_t>(file.shards()[0]->keys().size()), "key")));
}

void AddArchitecture(const GgufFile& file, const ModelView& view, Screen& screen) {
  if (!view.config.has_value()) {
    const std::string architecture = TextOfKey(file, "general.architecture");
    screen.Row("architecture", architecture.empty() ? "(not said)" : architecture);
    return;
  }
  const ModelConfig& config = *view.config;
  screen.Row("architecture",
             absl::StrCat(config.architecture->name, " (", config.architecture->title, ")"));
  const int64_t nextn = view.layout.has_value() ? view.layout->num_nextn_blocks() : 0;
  screen.Row("layers", absl::StrCat(config.trunk_layers(), " of width ", config.embedding_length,
                                    nextn > 0 ? absl::StrCat(", and ", Plural(nextn, "NextN block"))
                                              : ", no NextN block"));
  screen.Row("attention", absl::StrCat(Range(config.attention.head_count), " heads, ",
                                       Range(config.attention.head_count_kv),
                                       " KV heads, head size ", config.attention.key_length));
  screen.Row("context", Plural(config.context_length, "token"));
  if (!view.parameters.has_value()) return;
  const ParameterCount& parameters = *view.parameters;
  screen.Row("parameters",
             absl::StrCat(Count(parameters.total), " in all, ", Count(parameters.active),
                          " active for a token",
                          parameters.nextn > 0
                              ? absl::StrCat(", ", Count(parameters.nextn), " in the NextN block")
                              : ""));
}

void AddExperts(const GgufFile& file, const ModelView& view, Screen& screen) {
  if (!view.layout.has_value()) return;
  const ExpertLayout& layout = *view.layout;
  const int64_t tensor_bytes = TensorBytes(file);
  int64_t all = 0, of_token = 0, largest = 0, smallest = 0;
  for (int layer : layout.layers()) {
    const int64_t bytes = layout.ExpertBytes(layer);
    all += bytes * layout.num_experts();
    of_token += bytes * layout.num_used();
    largest = std::max(largest, layout.BlobBytes(layer));
    smallest =
        smallest == 0 ? layout.BlobBytes(layer) : std::min(smallest, layout.BlobBytes(layer));
  }
  if (layout.empty()) {
    screen.Row("experts", "none: a dense model");
  } else {
    const int64_t shared = view.config->experts.shared_count;
    screen.Row("experts",
               absl::StrCat(Plural(static_cast<int64_t>(layout.layers().size()), "layer"), " x ",
                            layout.num_experts(), " experts, a token uses ", layout.num_used(),
                            " a layer (top-", layout.num_used(), "), ",
                            shared > 0 ? Plural(shared, "shared expert") : "no shared expert",
                            "; stored ", NameOf(layout.form())));
    screen.Row("one expert",
               smallest == largest
                   ? absl::StrCat(FormatByteSize(largest), " (", largest, " bytes as a blob)")
                   : absl::StrCat(FormatByteSize(smallest), " to ", FormatByteSize(largest),
                                  " by layer (", smallest, " to ", largest, " bytes as a blob)"));
    screen.Row("expert bytes",
               absl::StrCat(FormatByteSize(all), " in all (", Share(all, tensor_bytes),
                            " of the weights), ", FormatByteSize(of_token), " read for a token"));
    int64_t nextn = 0;
    for (int layer : layout.nextn_layers()) {
      nextn += layout.ExpertBytes(layer) * layout.num_experts();
    }
    if (nextn > 0) {
      screen.Row("NextN", absl::StrCat(FormatByteSize(nextn),
                                       " of experts, which the layers do not route to"));
    }
    const int64_t table = BytesOfKind(file, TensorKind::kTable);
    screen.Row("dense bytes", absl::StrCat(FormatByteSize(tensor_bytes - all - nextn - table),
                                           ": everything that is not a routed expert",
                                           table > 0 ? " or a table of rows" : ""));
    if (table > 0) {
      screen.Row("table bytes", absl::StrCat(FormatByteSize(table),
                                             ": rows that tokens look up; it stays in the file"));
    }
  }
}

// "Q4_K" alone, or "Q4_K 75 %, Q6_K 25 %" by bytes, most first.
std::string MixText(const std::map<BlockType, int64_t>& bytes_by_type) {
  std::vector<std::pair<int64_t, absl::string_view>> parts;
  int64_t all = 0;
  for (const auto& [type, bytes] : bytes_by_type) {
    parts.push_back({bytes, InfoOf(type).name});
    all += bytes;
  }
  if (parts.size() == 1) return std::string(parts[0].second);
  std::sort(parts.rbegin(), parts.rend());
  return absl::StrJoin(parts, ", ", [all](std::string* out, const auto& part) {
    absl::StrAppend(out, part.second, " ", Share(part.first, all));
  });
}

void AddWeights(const GgufFile& file, int64_t trunk_layers, Screen& screen) {
  const WeightMix mix = WeightMix::Of(file, trunk_layers);
  absl::string_view label = "weights";
  for (int i = 0; i < kNumWeightRoles; ++i) {
    const WeightRole role = static_cast<WeightRole>(i);
    int64_t bytes = 0;
    for (const auto& [type, type_bytes] : mix.BytesOf(role)) bytes += type_bytes;
    if (bytes == 0) continue;
    screen.Row(std::exchange(label, ""),
               absl::StrFormat("%-20s  %9s  %s", NameOf(role), FormatByteSize(bytes),
                               MixText(mix.BytesOf(role))));
  }
}

void AddTokenizer(const GgufFile& file, Screen& screen) {
  const std::string model = TextOfKey(file, "tokenizer.ggml.model");
  if (model.empty()) {
    screen.Row("tokenizer", "none in the file");
    return;
  }
  const std::string pre = TextOfKey(file, "tokenizer.ggml.pre");
  const GgufValue* tokens = file.FindKey("tokenizer.ggml.tokens");
  const std::optional<GgufArray> array = tokens == nullptr ? std::nullopt : tokens->AsArray();
  const GgufValue* chat = file.FindKey("tokenizer.chat_template");
  screen.Row("tokenizer",
             absl::StrCat(model, pre.empty() ? "" : absl::StrCat(", pre-tokenizer ", pre), ", ",
                          Plural(array.has_value() ? array->size() : 0, "token"), ", ",
                          chat != nullptr ? "with a chat template" : "no chat template"));
}

std::string ReasonOf(const absl::Status& status) {
  return absl::StrCat(WithoutControls(status.message()), " [", ErrorKind(status), "]");
}

void AddWhetherItRuns(const ModelView& view, Screen& screen) {
  if (!view.runs.ok()) {
    screen.Row("generate", absl::StrCat("cannot run it: ", ReasonOf(view.runs)));
    return;
  }
  screen.Row("generate", view.has_tokenizer
                             ? "runs it"
                             : "runs it with --tokens_file: there is no tokenizer in the file");
  for (const std::string& remark : view.remarks) screen.Row("", absl::StrCat("but ", remark));
}

}  // namespace

std::string ModelScreen(const GgufFile& file, const ModelView& view) {
  Screen screen;
  const std::string name = TextOfKey(file, "general.name");
  screen.Row("name", name.empty() ? "(not said)" : name);
  AddFile(file, screen);
  AddArchitecture(file, view, screen);
  AddExperts(file, view, screen);
  AddWeights(
      file,
      view.config.has_value() ? view.config->trunk_layers() : std::numeric_limits<int64_t>::max(),
      screen);
  AddTokenizer(file, screen);
  if (!view.status.ok()) screen.Row("is no model", ReasonOf(view.status));
  AddWhetherItRuns(view, screen);
  return screen.ToString();
}

}  // namespace strata
