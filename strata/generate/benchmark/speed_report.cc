#include "strata/generate/benchmark/speed_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/quartiles.h"
#include "strata/core/cli/text_table.h"
#include "strata/core/cpu_name.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/benchmark/speed_benchmark.h"
#include "strata/generate/kernels/isa.h"

namespace strata {
namespace {

// amounts[i] / seconds[i], to four digits that matter.
Json RatesJson(double amount, const std::vector<double>& seconds) {
  std::vector<double> rates;
  for (const double one : seconds) rates.push_back(amount / one);
  const Quartiles quartiles = Quartiles::Of(rates);
  const auto rounded = [](double value) {
    const double scale = std::pow(10.0, 3.0 - std::floor(std::log10(value)));
    return std::round(value * scale) / scale;
  };
  return {{"median", rounded(quartiles.median)},
          {"q1", rounded(quartiles.first)},
          {"q3", rounded(quartiles.third)}};
}

// Seconds of a read as large as the decode's, over the seconds of the decode.
Json ShareJson(const SpeedResult& result) {
  std::vector<double> inverse;
  for (size_t i = 0; i < result.decode.size(); ++i) {
    inverse.push_back(result.decode[i] / result.read[i]);
  }
  return RatesJson(1.0, inverse);
}

Json ResultJson(const SpeedOptions& options, const SpeedResult& result) {
  const double bytes =
      static_cast<double>(result.dense_bytes * options.num_decode + result.expert_bytes);
  return {{"threads", result.threads},
          {"prompt_tps", RatesJson(static_cast<double>(options.num_prompt), result.prompt)},
          {"decode_tps", RatesJson(static_cast<double>(options.num_decode), result.decode)},
          {"decode_gbps", RatesJson(bytes / 1e9, result.decode)},
          {"plain_read_gbps", RatesJson(bytes / 1e9, result.read)},
          {"share_of_plain_read", ShareJson(result)},
          {"decode_bytes",
           {{"dense", result.dense_bytes * options.num_decode}, {"experts", result.expert_bytes}}},
          {"decode_routed", result.routed}};
}

// Bytes by type, the largest first.
Json QuantizationJson(const GgufFile& file) {
  std::map<BlockType, int64_t> bytes;
  for (const GgufTensor& tensor : file.tensors()) bytes[tensor.type] += tensor.bytes;
  std::vector<std::pair<int64_t, BlockType>> sorted;
  for (const auto& [type, size] : bytes) sorted.push_back({size, type});
  std::sort(sorted.rbegin(), sorted.rend());
  Json json = Json::object();
  for (const auto& [size, type] : sorted) json[std::string(InfoOf(type).name)] = size;
  return json;
}

std::string Cell(const Json& rates, double factor) {
  const auto value = [&](const char* name) { return rates[name].get<double>() * factor; };
  const int digits = value("median") < 100 ? 1 : 0;
  return absl::StrFormat("%.*f (%.*f to %.*f)", digits, value("median"), digits, value("q1"),
                         digits, value("q3"));
}

}  // namespace

Json SpeedReport(const GgufFile& file, const SpeedOptions& options,
                 absl::Span<const SpeedResult> results) {
  int64_t file_bytes = 0;
  for (const auto& shard : file.shards()) file_bytes += shard->mapping().size();
  Json report = {{"cpu", CpuName()},
                 {"cores", std::thread::hardware_concurrency()},
                 {"isa", std::string(NameOf(CurrentIsa()))},
                 {"model", std::filesystem::path(file.path()).filename().string()},
                 {"model_bytes", file_bytes},
                 {"bytes_by_type", QuantizationJson(file)},
                 {"prompt_tokens", options.num_prompt},
                 {"decode_tokens", options.num_decode},
                 {"prompt_batch", options.prompt_batch},
                 {"repetitions", options.repetitions},
                 {"results", Json::array()}};
  for (const SpeedResult& result : results) {
    report["results"].push_back(ResultJson(options, result));
  }
  return report;
}

std::string SpeedText(const Json& report) {
  std::vector<std::string> types;
  for (const auto& [type, bytes] : report["bytes_by_type"].items()) {
    types.push_back(absl::StrCat(type, " ", FormatByteSize(bytes.get<int64_t>())));
  }
  const auto number = [&report](const char* name) { return report[name].get<int64_t>(); };
  std::string text = absl::StrCat(
      report["cpu"].get<std::string>(), ", ", number("cores"), " cores, ",
      report["isa"].get<std::string>(), "\n", report["model"].get<std::string>(), ", ",
      FormatByteSize(number("model_bytes")), ": ", absl::StrJoin(types, ", "), "\n",
      number("prompt_tokens"), " tokens of prompt in batches of ", number("prompt_batch"),
      ", then ", number("decode_tokens"), " tokens of decode; medians of ", number("repetitions"),
      " repetitions (quartiles)\n\n");
  TextTable table("rrrrrr");
  table.AddRow({"threads", "prompt tok/s", "decode tok/s", "decode GB/s", "plain read GB/s",
                "decode / read %"});
  for (const Json& result : report["results"]) {
    table.AddRow({absl::StrCat(result["threads"].get<int>()), Cell(result["prompt_tps"], 1),
                  Cell(result["decode_tps"], 1), Cell(result["decode_gbps"], 1),
                  Cell(result["plain_read_gbps"], 1), Cell(result["share_of_plain_read"], 100)});
  }
  return text + table.ToString();
}

}  // namespace strata
