#include "strata/generate/benchmark/depth_benchmark.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/quartiles.h"
#include "strata/core/cli/text_table.h"
#include "strata/core/device.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"
#include "strata/generate/benchmark/device_read.h"
#include "strata/generate/benchmark/link_rate.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"
#include "strata/generate/placement/footprint.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

class DepthBench {
 public:
  DepthBench(CudaStepEngine& engine, DeviceRead& read, const DepthOptions& options,
             const DepthResult& sizes)
      : engine_(engine), read_(read), options_(options), sequence_(engine), result_(sizes) {}

  // Engines of models with experts.
  TierCounters counters() const {
    return engine_.experts() == nullptr ? TierCounters() : engine_.experts()->counters();
  }

  absl::Status Repeat(bool is_counted) {
    sequence_.Rewind(0);
    const Stopwatch prompt;
    RETURN_IF_ERROR(FeedPrompt());
    const double prompt_seconds = prompt.seconds();
    const double host_before = engine_.step_figures().host_ms;
    const TierCounters before = counters();
    const Stopwatch decode;
    RETURN_IF_ERROR(Decode());
    const double decode_seconds = decode.seconds();
    const double host_ms = engine_.step_figures().host_ms - host_before;
    const TierCounters after = counters();
    const Stopwatch read;
    RETURN_IF_ERROR(read_.Run(result_.step_bytes(), options_.num_decode));
    const double read_seconds = read.seconds();
    if (!is_counted) return absl::OkStatus();
    result_.prompt.push_back(prompt_seconds);
    result_.decode.push_back(decode_seconds);
    result_.read.push_back(read_seconds);
    result_.host_ms.push_back(host_ms / static_cast<double>(options_.num_decode));
    AddPlacement(before, after);
    return absl::OkStatus();
  }

  const DepthResult& result() const { return result_; }

 private:
  void AddPlacement(const TierCounters& before, const TierCounters& after) {
    if (after.routed == before.routed) return;
    const auto tokens = static_cast<double>(options_.num_decode);
    const auto per_token = [tokens](int64_t count) { return static_cast<double>(count) / tokens; };
    const auto missed_bytes = [](const TierCounters& counters) {
      return counters.bytes_from(EntryForm::kRegistered) + counters.bytes_from(EntryForm::kArena);
    };
    result_.hit_share.push_back(static_cast<double>(after.hits - before.hits) /
                                static_cast<double>(after.routed - before.routed));
    result_.missed_bytes.push_back(per_token(missed_bytes(after) - missed_bytes(before)));
    result_.landed.push_back(per_token(after.landed - before.landed));
  }

  absl::Status FeedPrompt() {
    absl::Span<const TokenId> left =
        absl::MakeConstSpan(options_.ids).subspan(0, static_cast<size_t>(result_.depth));
    while (!left.empty()) {
      const auto batch = left.subspan(0, static_cast<size_t>(options_.prompt_batch));
      left.remove_prefix(batch.size());
      RETURN_IF_ERROR(sequence_.Feed(batch, {.draws = left.empty()}).status());
    }
    return absl::OkStatus();
  }

  absl::Status Decode() {
    const auto ids = absl::MakeConstSpan(options_.ids).subspan(static_cast<size_t>(result_.depth));
    for (int64_t i = 0; i < options_.num_decode; ++i) {
      RETURN_IF_ERROR(
          sequence_.Feed(ids.subspan(static_cast<size_t>(i), 1), {.draws = true}).status());
    }
    return absl::OkStatus();
  }

  CudaStepEngine& engine_;
  DeviceRead& read_;
  const DepthOptions& options_;
  Sequence sequence_;
  DepthResult result_;
};

int64_t ExpertBytesOfStep(const ModelGraph& graph) {
  int64_t bytes = 0;
  for (const Layer& layer : graph.layers) {
    const MixtureOfExperts* const experts = ExpertsOf(layer);
    if (experts != nullptr) bytes += experts->routing.num_chosen * experts->expert_bytes();
  }
  return bytes;
}

Json Spread(const std::vector<double>& values, int digits) {
  const Quartiles quartiles = Quartiles::Of(values);
  const double scale = std::pow(10.0, digits);
  const auto rounded = [&](double value) { return std::round(value * scale) / scale; };
  return {{"median", rounded(quartiles.median)},
          {"q1", rounded(quartiles.first)},
          {"q3", rounded(quartiles.third)}};
}

// amount / seconds of each repetition.
Json Rates(double amount, const std::vector<double>& seconds, int digits) {
  std::vector<double> rates;
  for (const double one : seconds) rates.push_back(amount / one);
  return Spread(rates, digits);
}

Json Shares(const std::vector<double>& of, const std::vector<double>& in) {
  std::vector<double> shares;
  for (size_t i = 0; i < of.size(); ++i) shares.push_back(of[i] / in[i]);
  return Spread(shares, 3);
}

// Host milliseconds over the milliseconds of a step.
Json HostShare(const DepthOptions& options, const DepthResult& result) {
  std::vector<double> step_ms;
  for (const double seconds : result.decode) {
    step_ms.push_back(1000 * seconds / static_cast<double>(options.num_decode));
  }
  return Shares(result.host_ms, step_ms);
}

// What the machine allows, over what a token took: weights that all rows meet, keys and values from
// device memory, and then hits from there while misses cross the link.
Json BoundShare(const DepthOptions& options, const DepthResult& result) {
  std::vector<double> bounds, taken;
  const auto tokens = static_cast<double>(options.num_decode);
  for (size_t i = 0; i < result.decode.size(); ++i) {
    const double read_rate = static_cast<double>(result.step_bytes()) * tokens / result.read[i];
    const double missed = result.missed_bytes[i];
    const double hits = static_cast<double>(result.expert_bytes) - missed;
    bounds.push_back(static_cast<double>(result.dense_bytes + result.kv_bytes) / read_rate +
                     std::max(hits / read_rate, missed / result.link_bytes_per_s));
    taken.push_back(result.decode[i] / tokens);
  }
  return Shares(bounds, taken);
}

Json PlacementReport(const DepthOptions& options, const DepthResult& result) {
  return {{"hit_share", Spread(result.hit_share, 4)},
          {"missed_bytes", Spread(result.missed_bytes, 0)},
          {"landed", Spread(result.landed, 1)},
          {"link_gbps", std::round(result.link_bytes_per_s / 1e8) / 10},
          {"share_of_bound", BoundShare(options, result)}};
}

std::string Cell(const Json& spread, int digits, double factor = 1) {
  const auto value = [&](const char* name) { return spread[name].get<double>() * factor; };
  return absl::StrFormat("%.*f (%.*f to %.*f)", digits, value("median"), digits, value("q1"),
                         digits, value("q3"));
}

// Some of the experts have no slot.
bool HasMisses(const CudaStepEngine& engine) {
  const ExpertPlacement* const experts = engine.experts();
  return experts != nullptr && experts->slots().num_slots() < experts->geometry().size();
}

// Depths with experts that have no slots: how well these did.
std::string PlacementText(const Json& report) {
  TextTable table("rrrrr");
  table.AddRow({"depth", "hits %", "missed MB/token", "landed/token", "of the bound %"});
  for (const Json& depth : report["depths"]) {
    const Json& experts = depth["experts"];
    table.AddRow({absl::StrCat(depth["depth"].get<int64_t>()), Cell(experts["hit_share"], 1, 100),
                  Cell(experts["missed_bytes"], 1, 1e-6), Cell(experts["landed"], 1),
                  Cell(experts["share_of_bound"], 1, 100)});
  }
  return table.ToString();
}

}  // namespace

absl::StatusOr<std::vector<DepthResult>> MeasureDepths(const GgufFile& file,
                                                       const ModelGraph& graph,
                                                       CudaStepEngine& engine, Device& device,
                                                       const DepthOptions& options) {
  std::vector<DepthResult> sizes;
  int64_t most_bytes = 0;
  for (const int64_t depth : options.depths) {
    CHECK_LE(depth + options.num_decode, std::ssize(options.ids));
    const Footprint footprint =
        FootprintOf(file, graph, {.context = depth, .kv_type = options.kv_type});
    DepthResult& size = sizes.emplace_back();
    size.depth = depth;
    size.dense_bytes = footprint.dense_read_bytes;
    size.expert_bytes = ExpertBytesOfStep(graph);
    size.kv_bytes = footprint.kv_read_bytes;
    most_bytes = std::max(most_bytes, size.step_bytes());
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<DeviceRead> read, DeviceRead::Create(device, most_bytes));
  double link_bytes_per_s = 0;
  if (HasMisses(engine)) {
    ASSIGN_OR_RETURN(link_bytes_per_s, MeasureLink(device));
  }
  std::vector<DepthResult> results;
  for (DepthResult& size : sizes) {
    size.link_bytes_per_s = link_bytes_per_s;
    DepthBench bench(engine, *read, options, size);
    for (int repetition = 0; repetition <= options.repetitions; ++repetition) {
      RETURN_IF_ERROR(bench.Repeat(/*is_counted=*/repetition > 0));
    }
    results.push_back(bench.result());
  }
  return results;
}

Json DepthReport(const GgufFile& file, const CudaStepEngine& engine, const DepthOptions& options,
                 absl::Span<const DepthResult> results) {
  Json report = {{"gpu", engine.hardware().name},
                 {"model", std::filesystem::path(file.path()).filename().string()},
                 {"kv", std::string(NameOf(options.kv_type))},
                 {"decode_tokens", options.num_decode},
                 {"prompt_batch", options.prompt_batch},
                 {"repetitions", options.repetitions},
                 {"graph_nodes", engine.step_figures().nodes},
                 {"weight_bytes", engine.weight_bytes()},
                 {"kv_bytes", engine.kv_bytes()},
                 {"workspace_bytes", engine.workspace_bytes()},
                 {"depths", Json::array()}};
  if (const ExpertPlacement* const experts = engine.experts(); experts != nullptr) {
    const TierCounters counters = experts->counters();
    report["slots"] = experts->slots().num_slots();
    report["experts"] = experts->geometry().size();
    report["hits"] = counters.hits;
    report["routed"] = counters.routed;
  }
  for (const DepthResult& result : results) {
    const Json experts =
        result.link_bytes_per_s > 0 ? PlacementReport(options, result) : Json::object();
    const auto decode = static_cast<double>(options.num_decode);
    const double bytes = static_cast<double>(result.step_bytes()) * decode;
    report["depths"].push_back(
        {{"depth", result.depth},
         {"prompt_tps", Rates(static_cast<double>(result.depth), result.prompt, 1)},
         {"decode_tps", Rates(decode, result.decode, 1)},
         {"decode_gbps", Rates(bytes / 1e9, result.decode, 0)},
         {"plain_read_gbps", Rates(bytes / 1e9, result.read, 0)},
         {"share_of_plain_read", Shares(result.read, result.decode)},
         {"host_ms", Spread(result.host_ms, 4)},
         {"host_share", HostShare(options, result)},
         {"experts", experts},
         {"step_bytes",
          {{"dense", result.dense_bytes},
           {"experts", result.expert_bytes},
           {"kv", result.kv_bytes}}}});
  }
  return report;
}

std::string DepthText(const Json& report) {
  std::string text = absl::StrCat(
      report["gpu"].get<std::string>(), "\n", report["model"].get<std::string>(), ", --kv ",
      report["kv"].get<std::string>(), ", ", report["graph_nodes"].get<int>(),
      " kernels a step; medians of ", report["repetitions"].get<int>(), " repetitions of ",
      report["decode_tokens"].get<int>(), " tokens (quartiles)\n\n");
  TextTable table("rrrrrrr");
  table.AddRow({"depth", "prompt tok/s", "decode tok/s", "decode GB/s", "plain read GB/s",
                "decode / read %", "host %"});
  for (const Json& depth : report["depths"]) {
    table.AddRow({absl::StrCat(depth["depth"].get<int64_t>()), Cell(depth["prompt_tps"], 0),
                  Cell(depth["decode_tps"], 1), Cell(depth["decode_gbps"], 0),
                  Cell(depth["plain_read_gbps"], 0), Cell(depth["share_of_plain_read"], 1, 100),
                  Cell(depth["host_share"], 1, 100)});
  }
  text += table.ToString();
  const Json& experts = report["depths"].front()["experts"];
  if (experts.empty()) return text;
  return absl::StrCat(text, "\n", report["slots"].get<int>(), " slots for ",
                      report["experts"].get<int>(), " experts; the link reaches ",
                      experts["link_gbps"].get<double>(), " GB/s\n\n", PlacementText(report));
}

}  // namespace strata
