// How fast the kernels of prompts are on this card, next to plain loops of the same tensor core
// instructions.
//
//   bazel run -c opt //strata/generate/kernels/cuda:prompt_benchmark
//
// The shapes are those of a layer of a model of 30 billion weights with 3 billion in use: 2048
// wide, 32 heads of 128 over 4 KV heads, 128 experts of 768 of which a row has 8. A time is the
// median of several launches; the share is that of the plain loop.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cuda_runtime.h"
#include "gflags/gflags.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/text_table.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/cuda_status.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/mma_rate.h"
#include "strata/generate/kernels/cuda/prompt_attend.h"
#include "strata/generate/kernels/cuda/prompt_feed_forward.h"
#include "strata/generate/kernels/cuda/prompt_group.h"
#include "strata/generate/kernels/cuda/prompt_layers.h"
#include "strata/generate/kernels/cuda/prompt_product.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/prompt_testing.h"

DEFINE_string(cases, "", "Only cases whose names contain this text.");
DEFINE_int32(rows, 4096, "Rows of a step.");
DEFINE_int32(repeats, 7, "Launches of a case, of which the median counts.");
DEFINE_validator(rows, &strata::IsPositive);
DEFINE_validator(repeats, &strata::IsPositive);

namespace strata {
namespace {

constexpr int64_t kWidth = 2048;
constexpr int64_t kHidden = 768;
constexpr int kHeads = 32, kKvHeads = 4, kHeadSize = 128;
constexpr int kExperts = 128, kChosen = 8;
constexpr BlockType kTypes[] = {BlockType::kQ4_K, BlockType::kQ6_K, BlockType::kQ8_0,
                                BlockType::kIQ4_NL, BlockType::kMXFP4};

using Launch = std::function<absl::Status()>;

cudaEvent_t NewEvent() {
  cudaEvent_t event;
  CheckCuda(cudaEventCreate(&event));
  return event;
}

// Microseconds.
absl::StatusOr<double> MedianTime(const Launch& launch) {
  static const cudaEvent_t begin = NewEvent(), end = NewEvent();
  std::vector<float> times;
  for (int i = -2; i < FLAGS_repeats; ++i) {  // The first ones warm up.
    cudaEventRecord(begin);
    RETURN_IF_ERROR(launch());
    cudaEventRecord(end);
    RETURN_IF_ERROR(CudaStatus(cudaEventSynchronize(end), "a kernel"));
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    if (i >= 0) times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  return 1e3 * times[times.size() / 2];
}

// Random bytes of a type, repeated.
std::vector<std::byte> SomeWeights(BlockType type, int64_t count) {
  constexpr int64_t kDistinct = int64_t{1} << 18;
  std::mt19937 random(1);
  const std::vector<std::byte> some = RandomWeights(type, std::min(kDistinct, count), random);
  const BlockTypeInfo& info = InfoOf(type);
  std::vector<std::byte> weights(count / info.block_weights * info.block_bytes);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = some[i % some.size()];
  return weights;
}

std::vector<float> SomeValues(int64_t count) {
  std::mt19937 random(2);
  std::vector<float> some = RandomActivations(std::min<int64_t>(count, 1 << 16), random);
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = some[i % some.size()];
  return values;
}

// Rows choose experts that differ in how popular they are.
std::vector<int32_t> SomeChoices(int rows) {
  std::mt19937 random(3);
  std::vector<int32_t> choices;
  std::vector<std::pair<double, int>> order(kExperts);
  std::normal_distribution<double> noise;
  for (int row = 0; row < rows; ++row) {
    for (int e = 0; e < kExperts; ++e) order[e] = {noise(random) + 0.4 * (e % 5), e};
    std::partial_sort(order.begin(), order.begin() + kChosen, order.end(), std::greater<>());
    for (int rank = 0; rank < kChosen; ++rank) choices.push_back(order[rank].second);
  }
  return choices;
}

class Benchmark {
 public:
  Benchmark() : table_("lrrr") { table_.AddRow({"case", "us", "TOPS", "of mma"}); }

  absl::Status MeasureRates() {
    constexpr int kInstructions = 1 << 15;
    ASSIGN_OR_RETURN(const int multiprocessors, NumMultiprocessors());
    const DeviceArray<uint32_t> sink(1);
    for (const MmaKind kind : {MmaKind::kBytes, MmaKind::kHalves}) {
      const int blocks = 4 * multiprocessors;
      ASSIGN_OR_RETURN(const double us, MedianTime([&] {
                         return LaunchMmaRate(kind, blocks, kInstructions, sink.data(), stream_);
                       }));
      const double operations =
          OperationsOf(kind) * blocks * MmaWarps() * static_cast<double>(kInstructions);
      rates_[static_cast<int>(kind)] = operations / us * 1e-6;
    }
    std::printf("mma.sync alone: %.0f TOPS of bytes, %.0f TFLOPS of halves\n",
                rates_[static_cast<int>(MmaKind::kBytes)],
                rates_[static_cast<int>(MmaKind::kHalves)]);
    return absl::OkStatus();
  }

  // `operations` of 0: there is no rate to speak of.
  absl::Status Measure(const std::string& name, double operations, MmaKind kind,
                       const Launch& launch) {
    if (!absl::StrContains(name, FLAGS_cases)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const double us, MedianTime(launch));
    const double rate = operations / us * 1e-6, share = rate / rates_[static_cast<int>(kind)];
    table_.AddRow({name, absl::StrFormat("%.1f", us),
                   operations > 0 ? absl::StrFormat("%.0f", rate) : "",
                   operations > 0 ? absl::StrFormat("%.0f %%", 100 * share) : ""});
    return absl::OkStatus();
  }

  const KernelStream& stream() const { return stream_; }
  std::string ToString() { return table_.ToString(); }

 private:
  const KernelStream stream_;
  double rates_[2] = {1.0, 1.0};
  TextTable table_;
};

absl::Status MeasureProducts(Benchmark& benchmark, const DeviceActivations& x,
                             const DeviceActivations& attended, float* y) {
  struct Matrix {
    const char* name;
    int64_t rows, columns;
  };
  constexpr int64_t kQueries = int64_t{kHeads} * kHeadSize;
  constexpr Matrix kMatrices[] = {{"query", kQueries, kWidth},
                                  {"key", int64_t{kKvHeads} * kHeadSize, kWidth},
                                  {"output", kWidth, kQueries}};
  for (const BlockType type : kTypes) {
    for (const Matrix& matrix : kMatrices) {
      const DeviceArray<std::byte> weights(SomeWeights(type, matrix.rows * matrix.columns));
      for (const int tile : {64, 128}) {
        PromptProduct product = {
            .rows = FLAGS_rows, .x = matrix.columns == kWidth ? x : attended, .num_outputs = 1};
        product.outputs[0].matrix = {type, matrix.rows, matrix.columns, weights.data()};
        product.outputs[0].y = y;
        const DeviceFault fault;
        product.outputs[0].fault = fault.report();
        RETURN_IF_ERROR(benchmark.Measure(
            absl::StrCat(matrix.name, " ", InfoOf(type).name, " ", matrix.rows, "x", matrix.columns,
                         ", tiles of ", tile),
            2.0 * FLAGS_rows * matrix.rows * matrix.columns, MmaKind::kBytes,
            [&] { return LaunchPromptProduct(product, benchmark.stream(), {.tile_rows = tile}); }));
      }
    }
  }
  return absl::OkStatus();
}

// What the experts of all types share.
struct Experts {
  explicit Experts(int rows)
      : choices(SomeChoices(rows)),
        weights(SomeValues(int64_t{rows} * kChosen)),
        entries(static_cast<size_t>(rows) * kChosen),
        tiles(static_cast<size_t>(MaxPromptTiles(int64_t{rows} * kChosen, kExperts, 64))),
        num_tiles(1),
        hidden(int64_t{rows} * kChosen, kHidden),
        out(static_cast<size_t>(rows) * kChosen * kWidth) {}

  DeviceRouting routing() const { return {kExperts, kChosen, choices.data(), weights.data()}; }
  PromptGroups groups(int tile) const {
    return {tile, entries.data(), tiles.data(), num_tiles.data()};
  }

  const DeviceArray<int32_t> choices;
  const DeviceArray<float> weights;
  const DeviceArray<int32_t> entries;
  const DeviceArray<PromptTile> tiles;
  const DeviceArray<int32_t> num_tiles;
  const DeviceForms hidden;
  const DeviceArray<float> out;
  const DeviceFault fault;
};

absl::Status MeasureExperts(Benchmark& benchmark, const DeviceActivations& x, float* y) {
  const Experts shared(FLAGS_rows);
  const double entries = 1.0 * FLAGS_rows * kChosen;
  const auto fault = shared.fault.report();
  for (const int tile : {64, 128}) {
    RETURN_IF_ERROR(
        benchmark.Measure(absl::StrCat("groups, tiles of ", tile), 0, MmaKind::kBytes, [&] {
          return GroupPromptRows(FLAGS_rows, shared.routing(), shared.groups(tile),
                                 benchmark.stream());
        }));
  }
  for (const BlockType type : kTypes) {
    const BlockTypeInfo& info = InfoOf(type);
    const int64_t slice = kWidth * kHidden / info.block_weights * info.block_bytes;
    const DeviceArray<std::byte> memory(SomeWeights(type, 3 * kExperts * kWidth * kHidden));
    std::vector<DeviceExpert> table;
    for (int e = 0; e < kExperts; ++e) {
      const std::byte* const begin = memory.data() + 3 * e * slice;
      table.push_back({{begin, begin + slice, begin + 2 * slice}});
    }
    const DeviceArray<DeviceExpert> experts(table);
    for (const int tile : {64, 128}) {
      RETURN_IF_ERROR(
          GroupPromptRows(FLAGS_rows, shared.routing(), shared.groups(tile), benchmark.stream()));
      const std::string name = absl::StrCat(info.name, ", tiles of ", tile);
      RETURN_IF_ERROR(benchmark.Measure(
          absl::StrCat("gate and up ", name), 4.0 * entries * kWidth * kHidden, MmaKind::kBytes,
          [&] {
            return LaunchPromptGatedExperts(
                {.rows = FLAGS_rows,
                 .x = x,
                 .routing = shared.routing(),
                 .groups = shared.groups(tile),
                 .experts = experts.data(),
                 .gate = {type, kHidden, kWidth},
                 .up = {.type = type, .rows = kHidden, .columns = kWidth, .part = 1},
                 .hidden = shared.hidden.forms(),
                 .faults = {fault, fault, fault}},
                benchmark.stream());
          }));
      RETURN_IF_ERROR(benchmark.Measure(
          absl::StrCat("down ", name), 2.0 * entries * kWidth * kHidden, MmaKind::kBytes, [&] {
            return LaunchPromptDownExperts(
                {.rows = FLAGS_rows,
                 .hidden = shared.hidden.forms(),
                 .routing = shared.routing(),
                 .groups = shared.groups(tile),
                 .experts = experts.data(),
                 .down = {.type = type, .rows = kWidth, .columns = kHidden, .part = 2},
                 .out = shared.out.data(),
                 .fault = fault},
                benchmark.stream());
          }));
    }
  }
  return benchmark.Measure("sum of experts", 0, MmaKind::kBytes, [&] {
    return LaunchPromptExpertSum({.rows = FLAGS_rows,
                                  .size = kWidth,
                                  .routing = shared.routing(),
                                  .out = shared.out.data(),
                                  .y = y,
                                  .residual = y},
                                 benchmark.stream());
  });
}

absl::Status MeasureRows(Benchmark& benchmark, const DeviceActivations& x, float* y) {
  const DeviceArray<float> weight(SomeValues(kWidth)), router(SomeValues(kExperts * kWidth)),
      logits(static_cast<size_t>(FLAGS_rows) * kExperts),
      weights(static_cast<size_t>(FLAGS_rows) * kChosen);
  const DeviceArray<int32_t> chosen(static_cast<size_t>(FLAGS_rows) * kChosen);
  const DeviceFault fault;
  NormTask norm;
  norm.num_rows = FLAGS_rows;
  norm.x = x.values;
  norm.residual = {x.values, nullptr, 1.0f, y};
  norm.weight = weight.data();
  norm.epsilon = 1e-6f;
  const DeviceForms out(FLAGS_rows, kWidth);
  norm.out = out.forms();
  norm.fault = fault.report();
  RETURN_IF_ERROR(benchmark.Measure("norm to int8", 0, MmaKind::kBytes,
                                    [&] { return NormPromptRows(norm, benchmark.stream()); }));
  PromptRouteTask route;
  route.num_rows = FLAGS_rows;
  route.x = x;
  route.router.num_experts = kExperts;
  route.router.num_chosen = kChosen;
  route.router.normalize = true;
  route.router.weights = router.data();
  route.logits = logits.data();
  route.experts = chosen.data();
  route.weights = weights.data();
  route.fault = fault.report();
  return benchmark.Measure("router", 0, MmaKind::kBytes,
                           [&] { return RoutePromptRows(route, benchmark.stream()); });
}

absl::Status MeasureAttention(Benchmark& benchmark, KvFormat format, int context) {
  const KvLayer kv = {format, kKvHeads, kHeadSize, kHeadSize, 0};
  const int pages = (context + kKvPagePositions - 1) / kKvPagePositions;
  const DeviceArray<std::byte> memory(static_cast<size_t>(pages * kv.bytes()));
  const DeviceArray<float> keys(SomeValues(int64_t{FLAGS_rows} * kKvHeads * kHeadSize));
  const int64_t query_size = int64_t{kHeads} * kHeadSize;
  const DeviceArray<float> vectors(SomeValues(FLAGS_rows * query_size)),
      queries(SomeValues(FLAGS_rows * query_size)),
      angles(SomeValues(int64_t{FLAGS_rows} * kHeadSize)), norm(SomeValues(kHeadSize));
  std::vector<std::byte*> addresses;
  for (int i = 0; i < pages; ++i) addresses.push_back(memory.data() + i * kv.bytes());
  const DeviceArray<std::byte*> table(addresses);
  const DeviceForms out(FLAGS_rows, query_size);
  const DeviceFault fault;
  PromptPrepareTask prepare;
  prepare.runs.count = 1;
  prepare.num_heads = kHeads;
  prepare.kv = kv;
  prepare.query = {vectors.data(), query_size};
  prepare.key = {keys.data(), kKvHeads * kHeadSize};
  prepare.value = {keys.data(), kKvHeads * kHeadSize};
  prepare.query_norm.weight = norm.data();
  prepare.key_norm.weight = norm.data();
  prepare.epsilon = 1e-6f;
  prepare.rotation = {RotaryPairing::kNeox, kHeadSize, angles.data()};
  prepare.page_table = table.data();
  prepare.queries = queries.data();
  prepare.fault = fault.report();
  // Every page is filled, then the last rows are measured.
  for (int end = FLAGS_rows; end <= context; end += FLAGS_rows) {
    prepare.runs.runs[0] = {0, FLAGS_rows, end - FLAGS_rows, 0};
    RETURN_IF_ERROR(PreparePromptHeads(prepare, benchmark.stream()));
  }
  const std::string name = absl::StrCat(format == KvFormat::kF16 ? "f16" : "int8", " to ", context);
  RETURN_IF_ERROR(benchmark.Measure(absl::StrCat("heads, ", name), 0, MmaKind::kHalves, [&] {
    return PreparePromptHeads(prepare, benchmark.stream());
  }));
  PromptAttendTask task;
  task.runs = prepare.runs;
  task.num_heads = kHeads;
  task.kv = kv;
  task.scale = 0.088f;
  task.page_table = table.data();
  task.queries = queries.data();
  task.out = out.forms();
  task.fault = fault.report();
  const double seen = 1.0 * FLAGS_rows * (context - 0.5 * (FLAGS_rows - 1));
  const double operations = 2.0 * 2.0 * kHeads * kHeadSize * seen;
  // Queries and probabilities have two terms, or three.
  const double terms = format == KvFormat::kF16 ? 2.0 : 3.0;
  return benchmark.Measure(absl::StrCat("attention ", name, ", all terms"), terms * operations,
                           MmaKind::kHalves,
                           [&] { return AttendPromptRows(task, benchmark.stream()); });
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) return UsageError("prompt_benchmark takes flags only");
  if (!HasCudaDevice()) return absl::UnavailableError("no CUDA device");
  Benchmark benchmark;
  RETURN_IF_ERROR(benchmark.MeasureRates());
  std::vector<std::vector<float>> rows(FLAGS_rows), heads(FLAGS_rows);
  std::mt19937 random(4);
  for (std::vector<float>& row : rows) row = RandomActivations(kWidth, random);
  for (std::vector<float>& row : heads) row = RandomActivations(kHeads * kHeadSize, random);
  const TestActivations x(rows), attended(heads);
  const DeviceArray<float> y(static_cast<size_t>(FLAGS_rows) * kHeads * kHeadSize);
  RETURN_IF_ERROR(MeasureProducts(benchmark, x.device(), attended.device(), y.data()));
  RETURN_IF_ERROR(MeasureExperts(benchmark, x.device(), y.data()));
  RETURN_IF_ERROR(MeasureRows(benchmark, x.device(), y.data()));
  for (const int context : {4096, 32768}) {
    if (context < FLAGS_rows) continue;
    RETURN_IF_ERROR(MeasureAttention(benchmark, KvFormat::kF16, context));
    RETURN_IF_ERROR(MeasureAttention(benchmark, KvFormat::kInt8, context));
  }
  std::printf("%d rows, median of %d launches\n%s", FLAGS_rows, FLAGS_repeats,
              benchmark.ToString().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain({.usage = "prompt_benchmark [flags]"}, strata::Run, argc, argv);
}
