// How long the kernels between the products of a decode step take, each in a graph of its own
// launches over changing memory, beside a kernel that only reads as many bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cuda_runtime.h"
#include "gflags/gflags.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/quartiles.h"
#include "strata/core/cli/text_table.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/generate/kernels/cuda/attend_rows.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/draw_tokens.h"
#include "strata/generate/kernels/cuda/kernel_timer.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_rows.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/route_rows.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/cuda/streaming_read.h"

DEFINE_int32(repetitions, 15, "Times that each graph is replayed.");
DEFINE_int32(launches, 96, "Launches of a graph.");
DEFINE_int32(heads, 32, "Heads of queries.");
DEFINE_int32(kv_heads, 4, "Heads of keys and values.");
DEFINE_int32(head_size, 128, "Values of a head.");
DEFINE_int32(width, 2048, "Values of the state of a row.");
DEFINE_int32(slab_mb, 2300, "Megabytes that launches read from in turn: more than the last cache.");
DEFINE_validator(repetitions, &strata::IsPositive);
DEFINE_validator(launches, &strata::IsPositive);
DEFINE_validator(heads, &strata::IsPositive);
DEFINE_validator(kv_heads, &strata::IsPositive);
DEFINE_validator(head_size, &strata::IsPositive);
DEFINE_validator(width, &strata::IsPositive);
DEFINE_validator(slab_mb, &strata::IsPositive);

namespace strata {
namespace {

constexpr int kRowCounts[] = {1, 2, 4, 8, 16};
constexpr float kEpsilon = 1e-6f;

// Device memory of random halves, which are also floats of about the same size.
class Slab {
 public:
  explicit Slab(int64_t bytes) : memory_(bytes) {
    constexpr int64_t kPiece = 4 << 20;
    std::mt19937 random(1);
    std::vector<uint16_t> halves(kPiece / 2);
    for (uint16_t& half : halves) half = static_cast<uint16_t>(0x3000 + (random() & 0x8bff));
    for (int64_t begin = 0; begin < bytes; begin += kPiece) {
      cudaMemcpy(memory_.data() + begin, halves.data(), std::min(kPiece, bytes - begin),
                 cudaMemcpyHostToDevice);
    }
  }
  // The index-th of consecutive pieces of this size, beginning again at the end.
  std::byte* Piece(int64_t bytes, int64_t index) const {
    const int64_t rounded = (bytes + 255) / 256 * 256;
    return memory_.data() + index % (memory_.size() / rounded) * rounded;
  }
  int64_t size() const { return memory_.size(); }

 private:
  DeviceArray<std::byte> memory_;
};

DeviceActivations AllForms(int64_t size, const Slab& results) {
  std::byte* const memory = results.Piece(results.size() / 2, 0);
  const int64_t values = kMaxRows * size;
  const auto part = [&](int64_t index) { return memory + index * values * 4; };
  const auto int8_rows = [&](int64_t index) -> DeviceInt8Rows {
    return {reinterpret_cast<int8_t*>(part(index)), reinterpret_cast<float*>(part(index + 1)),
            reinterpret_cast<int16_t*>(part(index + 2))};
  };
  return {.size = size,
          .values = reinterpret_cast<float*>(part(0)),
          .a32 = int8_rows(1),
          .a256 = int8_rows(4)};
}

class LayersBenchmark {
 public:
  LayersBenchmark()
      : timer_(FLAGS_repetitions),
        slab_(int64_t{FLAGS_slab_mb} << 20),
        results_(int64_t{256} << 20),
        table_("lrrrrrr") {
    tickets_.Clear();
    best_.Clear();
    table_.AddRow({"kernel", "rows", "MB", "us", "plain launch us", "stream us", "of stream"});
  }

  void Run() {
    for (const int rows : kRowCounts) TimeNorm(rows);
    for (const int experts : {128, 256}) {
      for (const int rows : kRowCounts) TimeRouter(experts, rows);
    }
    for (const int rows : kRowCounts) TimePrepare(rows);
    for (const KvFormat format : {KvFormat::kF16, KvFormat::kInt8}) {
      for (const int context : {128, 4096, 32768}) {
        for (const int rows : kRowCounts) {
          TimeAttention(format, context, rows, /*prefetches=*/false);
          TimeAttention(format, context, rows, /*prefetches=*/true);
        }
      }
    }
    for (const int rows : kRowCounts) TimeDraw(rows);
    std::printf("%s", table_.ToString().c_str());
  }

 private:
  FaultReport fault() const { return {fault_word_.data(), 0}; }
  float* Floats(int64_t count, int64_t index) const {
    return reinterpret_cast<float*>(slab_.Piece(count * int64_t{sizeof(float)}, index));
  }

  // `bytes` is what a launch must read of the slab.
  void Report(const std::string& name, int rows, int64_t bytes, KernelTimer::LaunchOne launch) {
    const double us = timer_.Time(FLAGS_launches, true, launch).median;
    const double plain_us = timer_.Time(FLAGS_launches, false, launch).median;
    const double stream_us =
        timer_
            .Time(FLAGS_launches, true,
                  [&](int index, const KernelStream& stream) {
                    return LaunchStreamingRead(slab_.Piece(bytes, index), bytes / 16 * 16,
                                               sink_.data(), stream);
                  })
            .median;
    table_.AddRow({name, absl::StrCat(rows), absl::StrFormat("%.3f", bytes / 1e6),
                   absl::StrFormat("%.2f", us), absl::StrFormat("%.2f", plain_us),
                   absl::StrFormat("%.2f", stream_us),
                   absl::StrFormat("%.0f%%", 100 * stream_us / us)});
  }

  NormTask Norm(int rows, int index) const {
    return {.num_rows = rows,
            .x = Floats(rows * FLAGS_width, index),
            .weight = Floats(FLAGS_width, index),
            .epsilon = kEpsilon,
            .out = AllForms(FLAGS_width, results_),
            .fault = fault()};
  }

  void TimeNorm(int rows) {
    Report(
        "norm", rows, (rows + 1) * FLAGS_width * int64_t{sizeof(float)},
        [&](int index, const KernelStream& stream) { return NormRows(Norm(rows, index), stream); });
  }

  void TimeRouter(int experts, int rows) {
    const int64_t floats = int64_t{experts} * FLAGS_width;
    Report(absl::StrCat("router of ", experts), rows, floats * int64_t{sizeof(float)},
           [&](int index, const KernelStream& stream) {
             return RouteRows({.norm = Norm(rows, index),
                               .router = {.num_experts = experts,
                                          .num_chosen = 8,
                                          .normalize = true,
                                          .weights = Floats(floats, index)},
                               .logits = logits_.data(),
                               .tickets = tickets_.data(),
                               .experts = experts_.data(),
                               .weights = weights_.data(),
                               .fault = fault()},
                              stream);
           });
  }

  KvLayer Layer(KvFormat format) const {
    return {.format = format,
            .num_heads = FLAGS_kv_heads,
            .key_size = FLAGS_head_size,
            .value_size = FLAGS_head_size};
  }

  // Every row has a sequence of its own. Launches differ in where the pages lie.
  struct Places {
    DeviceArray<DeviceStep> step{1};
    std::vector<std::byte*> addresses;
    int64_t pages_a_launch = 0;
    int num_launches = 0;
  };

  // As many launches as the slab has room for, each with pages of its own.
  void MakePlaces(const KvLayer& layer, int position, int rows, Places& places) const {
    const int pages = position / kKvPagePositions + 1;
    DeviceStep step;
    for (int row = 0; row < rows; ++row) {
      step.rows[row] = {.position = position, .first_page = row * pages};
    }
    places.step.Write({step});
    places.pages_a_launch = int64_t{rows} * pages;
    const int64_t page_bytes = (layer.bytes() + 255) / 256 * 256;
    places.num_launches = static_cast<int>(std::clamp<int64_t>(
        slab_.size() / (page_bytes * places.pages_a_launch), 1, FLAGS_launches));
    for (int64_t i = 0; i < places.pages_a_launch * places.num_launches; ++i) {
      places.addresses.push_back(slab_.Piece(page_bytes, i));
    }
  }

  void TimePrepare(int rows) {
    const KvLayer layer = Layer(KvFormat::kF16);
    Places places;
    MakePlaces(layer, 100, rows, places);
    const DeviceArray<std::byte*> pages(places.addresses);
    const int64_t query = int64_t{FLAGS_heads} * FLAGS_head_size;
    const int64_t key = int64_t{FLAGS_kv_heads} * FLAGS_head_size;
    const int64_t stride = query + 2 * key;
    Report("norms, rotation, storing", rows, rows * stride * int64_t{sizeof(float)},
           [&](int index, const KernelStream& stream) {
             const float* const projected = Floats(rows * stride, index);
             const DeviceHeadNorm norm = {.weight = Floats(FLAGS_head_size, index)};
             return PrepareHeads(
                 {.num_rows = rows,
                  .num_heads = FLAGS_heads,
                  .kv = layer,
                  .query = {projected, stride},
                  .key = {projected + query, stride},
                  .value = {projected + query + key, stride},
                  .query_norm = norm,
                  .key_norm = norm,
                  .epsilon = kEpsilon,
                  .rotation = {.num_dims = FLAGS_head_size,
                               .angles = Floats(kMaxRows * FLAGS_head_size, index)},
                  .step = places.step.data(),
                  .page_table = pages.data() + index % places.num_launches * places.pages_a_launch,
                  .queries = AllForms(query, results_).values,
                  .fault = fault()},
                 stream);
           });
  }

  void TimeAttention(KvFormat format, int context, int rows, bool prefetches) {
    const KvLayer layer = Layer(format);
    Places places;
    MakePlaces(layer, context - 1, rows, places);
    const DeviceArray<std::byte*> pages(places.addresses);
    const int64_t out_size = int64_t{FLAGS_heads} * FLAGS_head_size;
    const DeviceArray<float> partials(AttentionPartialFloats(rows, FLAGS_heads, layer));
    DeviceArray<uint32_t> tickets(AttentionTickets(rows, FLAGS_heads, layer));
    tickets.Clear();
    const int64_t bytes = layer.bytes() * context / kKvPagePositions * rows;
    const char* const name = format == KvFormat::kF16 ? "f16" : "int8";
    const char* const how = prefetches ? ", prefetched" : "";
    Report(absl::StrCat("attention, ", name, ", context ", context, how), rows, bytes,
           [&](int index, const KernelStream& stream) {
             return AttendRows(
                 {.num_rows = rows,
                  .num_heads = FLAGS_heads,
                  .kv = layer,
                  .scale = 0.1f,
                  .step = places.step.data(),
                  .page_table = pages.data() + index % places.num_launches * places.pages_a_launch,
                  .queries = Floats(rows * out_size, index),
                  .partials = partials.data(),
                  .tickets = tickets.data(),
                  .prefetches = prefetches,
                  .out = AllForms(out_size, results_),
                  .fault = fault()},
                 stream);
           });
  }

  void TimeDraw(int rows) {
    constexpr int64_t kVocabulary = 151936;
    DeviceStep step;
    step.num_wanted = rows;
    for (int row = 0; row < rows; ++row) step.wanted[row] = row;
    const DeviceArray<DeviceStep> device_step(std::vector<DeviceStep>{step});
    const DeviceArray<DeviceStepResult> result(1);
    Report("choice of tokens", rows, rows * kVocabulary * int64_t{sizeof(float)},
           [&](int index, const KernelStream& stream) {
             return DrawTokens({.max_wanted = rows,
                                .vocabulary = kVocabulary,
                                .logits = Floats(rows * kVocabulary, index),
                                .step = device_step.data(),
                                .best = best_.data(),
                                .ticket = tickets_.data(),
                                .drawn = experts_.data(),
                                .result = result.data(),
                                .fault = fault()},
                               stream);
           });
  }

  KernelTimer timer_;
  Slab slab_;
  Slab results_;
  TextTable table_;
  DeviceArray<uint32_t> fault_word_{1}, sink_{1}, tickets_{kMaxRows};
  DeviceArray<uint64_t> best_{kMaxRows};
  DeviceArray<float> logits_{kMaxRows * kMaxRoutedExperts};
  DeviceArray<int32_t> experts_{kMaxRows * kMaxRouterChoices};
  DeviceArray<float> weights_{kMaxRows * kMaxRouterChoices};
};

absl::Status Run(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) return UsageError("layers_benchmark takes flags only");
  if (!HasCudaDevice()) return absl::UnavailableError("no CUDA device");
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  std::printf("%s; graphs of %d launches, median of %d replays, a launch each\n", properties.name,
              FLAGS_launches, FLAGS_repetitions);
  LayersBenchmark().Run();
  return absl::OkStatus();
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain({.usage = "layers_benchmark [flags]"}, strata::Run, argc, argv);
}
