// How fast the product kernels are on this card, next to a kernel that only reads as many bytes.
//
//   bazel run -c opt //strata/generate/kernels/cuda:products_benchmark
//
// Each case is a graph of kernels that go through many copies of the weights, so that no cache
// helps; the time is that of one kernel in the row, the median of several replays. All cuts of the
// work that --variants names are measured in the same run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "cuda_runtime.h"
#include "gflags/gflags.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/text_table.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/cuda_status.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/cuda/dense_product.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/expert_sum.h"
#include "strata/generate/kernels/cuda/gated_product.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/product_plan.h"
#include "strata/generate/kernels/cuda/streaming_read.h"
#include "strata/generate/kernels/cuda/test_vectors.h"

DEFINE_string(cases, "", "Only cases whose names contain this text.");
DEFINE_string(
    variants, "best",
    "default: the kernels' own cut alone; best: also the best of all cuts; all: every cut.");
DEFINE_int32(kernels, 40, "Kernels of a graph.");
DEFINE_int32(replays, 7, "Replays of a graph, of which the median counts.");
DEFINE_bool(programmatic, true, "Launch kernels programmatically.");

namespace strata {
namespace {

constexpr int64_t kPoolBytes = int64_t{768} << 20;  // Of weights: many times the cache.

enum class Kind { kDense, kGated, kSum };

struct Case {
  Kind kind;
  BlockType type;
  int rows, columns;  // Of a matrix.
  int chosen = 0;     // Experts of a row.
};

constexpr Case kCases[] = {
    {Kind::kGated, BlockType::kQ4_K, 768, 2048, 8},
    {Kind::kSum, BlockType::kQ4_K, 2048, 768, 8},
    {Kind::kSum, BlockType::kQ6_K, 2048, 768, 8},
    {Kind::kGated, BlockType::kQ5_K, 512, 2048, 10},
    {Kind::kSum, BlockType::kQ5_K, 2048, 512, 10},
    {Kind::kGated, BlockType::kIQ4_NL, 640, 2560, 8},
    {Kind::kSum, BlockType::kIQ4_NL, 2560, 640, 8},
    {Kind::kGated, BlockType::kMXFP4, 2880, 2880, 4},
    {Kind::kSum, BlockType::kMXFP4, 2880, 2880, 4},
    {Kind::kGated, BlockType::kIQ2_XS, 768, 2048, 8},
    {Kind::kSum, BlockType::kIQ3_S, 2048, 768, 8},
    {Kind::kDense, BlockType::kQ4_K, 5120, 2048},
    {Kind::kDense, BlockType::kQ4_K, 4096, 2048},
    {Kind::kDense, BlockType::kQ8_0, 4096, 2048},
    {Kind::kDense, BlockType::kQ6_K, 4096, 2048},
    {Kind::kDense, BlockType::kQ4_K, 2048, 4096},
    {Kind::kDense, BlockType::kF16, 2048, 2048},
    {Kind::kDense, BlockType::kQ6_K, 151936, 2048},
    {Kind::kDense, BlockType::kQ4_K, 151936, 2048},
    {Kind::kDense, BlockType::kQ8_0, 151936, 2048},
};
constexpr int kRowCounts[] = {1, 2, 4, 8, 16};

std::string NameOf(const Case& c) {
  constexpr absl::string_view kKinds[] = {"dense", "gated", "sum"};
  return absl::StrCat(kKinds[static_cast<int>(c.kind)], " ", InfoOf(c.type).name, " ", c.rows, "x",
                      c.columns, c.chosen > 0 ? absl::StrCat(" top ", c.chosen) : "");
}

std::string NameOf(const ProductPlan& plan) {
  std::string name;
  if (plan.tile_rows > 0) absl::StrAppend(&name, "tile ", plan.tile_rows, " ");
  if (plan.threads > 0) absl::StrAppend(&name, "threads ", plan.threads, " ");
  if (plan.vectors > 0) absl::StrAppend(&name, "vectors ", plan.vectors, " ");
  if (!plan.early_weights) absl::StrAppend(&name, "late ");
  return name.empty() ? "default" : name;
}

std::vector<ProductPlan> PlansFor(int rows) {
  std::vector<ProductPlan> plans = {{}};
  if (FLAGS_variants == "default") return plans;
  plans.push_back({.early_weights = false});
  for (const int tile_rows : {4, 8, 16, 32}) {
    for (const int threads : {128, 256})
      plans.push_back({.tile_rows = tile_rows, .threads = threads});
  }
  for (const int vectors : {1, 2, 4}) {
    if (rows > 1) plans.push_back({.vectors = vectors});
  }
  return plans;
}

// Copies of a matrix of random weights.
class Pool {
 public:
  explicit Pool(const Case& c)
      : stride_((MatrixBytes(c) + 255) / 256 * 256),
        count_(std::max<int64_t>(2, kPoolBytes / stride_)),
        memory_(static_cast<size_t>(stride_ * count_)) {
    std::mt19937 random(1);
    constexpr int kSomeRows = 64;
    const std::vector<std::byte> some =
        RandomWeights(c.type, int64_t{std::min(kSomeRows, c.rows)} * c.columns, random);
    const auto some_bytes = static_cast<int64_t>(some.size());
    for (int64_t at = 0; at < MatrixBytes(c); at += some_bytes) {
      CheckCuda(cudaMemcpy(memory_.data() + at, some.data(),
                           std::min(some_bytes, MatrixBytes(c) - at), cudaMemcpyHostToDevice));
    }
    for (int64_t i = 1; i < count_; ++i) {
      CheckCuda(cudaMemcpy(memory_.data() + i * stride_, memory_.data(), MatrixBytes(c),
                           cudaMemcpyDeviceToDevice));
    }
  }

  static int64_t MatrixBytes(const Case& c) {
    const BlockTypeInfo& info = InfoOf(c.type);
    return int64_t{c.rows} * (c.columns / info.block_weights) * info.block_bytes;
  }
  int64_t count() const { return count_; }
  const std::byte* matrix(int64_t i) const { return memory_.data() + i % count_ * stride_; }
  // Some place with so many bytes behind it, another one for each i.
  const std::byte* bytes(int64_t i, int64_t size) const {
    const int64_t places = std::max<int64_t>(1, stride_ * count_ / size);
    return memory_.data() + i % places * (size / 256 * 256);
  }

 private:
  const int64_t stride_, count_;
  const DeviceArray<std::byte> memory_;
};

// What the kernels of a case read and write, and their launches.
class Bench {
 public:
  Bench(const Case& c, const Pool& pool, int rows)
      : case_(c),
        pool_(pool),
        rows_(rows),
        experts_(static_cast<int>(pool.count() / 2)),
        x_(*ActivationFormOf(c.type), c.kind == Kind::kSum ? rows * c.chosen : rows, c.columns,
           random_),
        hidden_(HiddenForm(c), rows * std::max(c.chosen, 1), c.rows),
        tickets_(NumTickets(rows * std::max(c.chosen, 1), c.rows)),
        y_(static_cast<size_t>(rows) * c.rows),
        fault_(1),
        table_(Table()),
        choices_(Choices()),
        weights_(RandomActivations(int64_t{rows} * std::max(c.chosen, 1), random_)) {
    tickets_.Clear();
  }

  // Bytes of weights, in the mean of the graph's kernels.
  int64_t bytes() const {
    if (case_.kind == Kind::kDense) return Pool::MatrixBytes(case_);
    return distinct_ * Pool::MatrixBytes(case_) * (case_.kind == Kind::kGated ? 2 : 1) /
           FLAGS_kernels;
  }

  absl::Status Launch(int i, const ProductPlan& plan, const KernelStream& stream) const {
    if (case_.kind == Kind::kDense) {
      DenseProduct product = {.rows = rows_, .x = x_.on_device(), .num_outputs = 1};
      product.outputs[0] = {.matrix = {.type = case_.type,
                                       .rows = case_.rows,
                                       .columns = case_.columns,
                                       .data = pool_.matrix(i)},
                            .y = y_.data(),
                            .fault = {.word = fault_.data()}};
      return LaunchDenseProduct(product, stream, plan);
    }
    const DeviceRouting routing = {.num_experts = experts_,
                                   .num_chosen = case_.chosen,
                                   .experts = choices_.data() + int64_t{i} * rows_ * case_.chosen,
                                   .weights = weights_.data()};
    const auto matrix = [this](int part) -> DeviceExpertMatrix {
      return {.type = case_.type, .rows = case_.rows, .columns = case_.columns, .part = part};
    };
    const FaultReport fault = {.word = fault_.data()};
    if (case_.kind == Kind::kGated) {
      return LaunchGatedExperts({.rows = rows_,
                                 .x = x_.on_device(),
                                 .routing = routing,
                                 .experts = table_.data(),
                                 .gate = matrix(0),
                                 .up = matrix(1),
                                 .hidden = {.vectors = Hidden(), .tickets = tickets_.data()},
                                 .faults = {.gate = fault, .up = fault, .hidden = fault}},
                                stream, plan);
    }
    return LaunchExpertSum({.rows = rows_,
                            .hidden = x_.on_device(),
                            .routing = routing,
                            .experts = table_.data(),
                            .down = matrix(2),
                            .early_choice = true,
                            .fault = fault,
                            .y = y_.data()},
                           stream, plan);
  }

  absl::Status LaunchRead(int i, const KernelStream& stream) const {
    const int64_t size = bytes() / 16 * 16;
    return LaunchStreamingRead(pool_.bytes(i, size), size, fault_.data(), stream);
  }

 private:
  // Of one row values alone, as an engine does: then down brings them into their form.
  DeviceActivations Hidden() const {
    DeviceActivations hidden = hidden_.on_device();
    if (rows_ == 1) hidden.a32 = hidden.a256 = DeviceInt8Rows();
    return hidden;
  }

  static ActivationForm HiddenForm(const Case& c) {
    if (c.kind != Kind::kGated) return ActivationForm::kF32;
    return c.rows % 256 == 0 ? ActivationForm::kA256 : ActivationForm::kA32;
  }

  std::vector<DeviceExpert> Table() const {
    std::vector<DeviceExpert> table;
    for (int i = 0; i < experts_; ++i) {
      table.push_back(
          {.parts = {pool_.matrix(2 * i), pool_.matrix(2 * i + 1), pool_.matrix(2 * i)}});
    }
    return table;
  }

  // Of each kernel of the graph: 128 neighbours of all experts are a layer.
  std::vector<int32_t> Choices() {
    std::vector<int32_t> choices;
    for (int kernel = 0; kernel < FLAGS_kernels; ++kernel) {
      std::set<int32_t> of_kernel;
      for (int row = 0; row < rows_; ++row) {
        std::set<int32_t> of_row;
        while (static_cast<int>(of_row.size()) < case_.chosen) {
          const auto expert = static_cast<int32_t>(random_() % 128);
          if (!of_row.insert((expert + kernel * 128) % experts_).second) continue;
        }
        choices.insert(choices.end(), of_row.begin(), of_row.end());
        of_kernel.insert(of_row.begin(), of_row.end());
      }
      distinct_ += static_cast<int64_t>(of_kernel.size());
    }
    return choices;
  }

  const Case case_;
  const Pool& pool_;
  const int rows_;
  const int experts_;
  std::mt19937 random_{2};
  int64_t distinct_ = 0;
  const TestVectors x_;
  const TestHidden hidden_;
  const DeviceArray<uint32_t> tickets_;
  const DeviceArray<float> y_;
  const DeviceArray<uint32_t> fault_;
  const DeviceArray<DeviceExpert> table_;
  const DeviceArray<int32_t> choices_;
  const DeviceArray<float> weights_;
};

using LaunchOne = std::function<absl::Status(int, const KernelStream&)>;

// Microseconds of one of the kernels that follow each other in a graph.
absl::Status Measure(const LaunchOne& launch, double& microseconds) {
  cudaStream_t stream;
  CheckCuda(cudaStreamCreate(&stream));
  CheckCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  absl::Status status;
  for (int i = 0; i < FLAGS_kernels && status.ok(); ++i) {
    status = launch(i, {.stream = stream, .programmatic = FLAGS_programmatic});
  }
  cudaGraph_t graph;
  CheckCuda(cudaStreamEndCapture(stream, &graph));
  RETURN_IF_ERROR(status);
  cudaGraphExec_t executable;
  CheckCuda(cudaGraphInstantiate(&executable, graph, 0));
  cudaEvent_t begin, end;
  CheckCuda(cudaEventCreate(&begin));
  CheckCuda(cudaEventCreate(&end));
  std::vector<double> times;
  for (int replay = 0; replay <= FLAGS_replays; ++replay) {  // The first warms up.
    CheckCuda(cudaEventRecord(begin, stream));
    CheckCuda(cudaGraphLaunch(executable, stream));
    CheckCuda(cudaEventRecord(end, stream));
    CheckCuda(cudaStreamSynchronize(stream));
    float milliseconds = 0.0f;
    CheckCuda(cudaEventElapsedTime(&milliseconds, begin, end));
    if (replay > 0) times.push_back(1000.0 * milliseconds / FLAGS_kernels);
  }
  CheckCuda(cudaGraphExecDestroy(executable));
  CheckCuda(cudaGraphDestroy(graph));
  CheckCuda(cudaEventDestroy(begin));
  CheckCuda(cudaEventDestroy(end));
  CheckCuda(cudaStreamDestroy(stream));
  std::sort(times.begin(), times.end());
  microseconds = times[times.size() / 2];
  return absl::OkStatus();
}

void AddRow(const std::string& name, int rows, const std::string& plan, int64_t bytes,
            double microseconds, double read_microseconds, TextTable& table) {
  table.AddRow({name, absl::StrCat(rows), plan, absl::StrFormat("%.2f", bytes / 1e6),
                absl::StrFormat("%.2f", microseconds), absl::StrFormat("%.2f", read_microseconds),
                absl::StrFormat("%.0f", bytes / microseconds / 1e3),
                absl::StrFormat("%.0f%%", 100.0 * read_microseconds / microseconds)});
}

absl::Status MeasureRows(const Case& c, const Pool& pool, int rows, TextTable& table) {
  const Bench bench(c, pool, rows);
  double read = 0.0;
  RETURN_IF_ERROR(Measure(
      [&](int i, const KernelStream& stream) { return bench.LaunchRead(i, stream); }, read));
  double best = 0.0;
  std::string best_plan;
  for (const ProductPlan& plan : PlansFor(rows)) {
    double time = 0.0;
    RETURN_IF_ERROR(Measure(
        [&](int i, const KernelStream& stream) { return bench.Launch(i, plan, stream); }, time));
    const std::string name = NameOf(plan);
    if (name == "default" || FLAGS_variants == "all") {
      AddRow(NameOf(c), rows, name, bench.bytes(), time, read, table);
    }
    if (!best_plan.empty() && time >= best) continue;
    best = time;
    best_plan = name;
  }
  if (FLAGS_variants == "best" && best_plan != "default") {
    AddRow("", rows, best_plan, bench.bytes(), best, read, table);
  }
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) return UsageError("products_benchmark takes flags only");
  if (!HasCudaDevice()) return absl::UnavailableError("no CUDA device");
  cudaDeviceProp properties;
  RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties"));
  std::printf("%s, %d multiprocessors; %d kernels a graph, %s, median of %d\n", properties.name,
              properties.multiProcessorCount, FLAGS_kernels,
              FLAGS_programmatic ? "launched programmatically" : "launched plainly", FLAGS_replays);
  TextTable table("lrlrrrrr");
  table.AddRow({"product", "rows", "cut", "MB", "us", "read us", "GB/s", "of read"});
  for (const Case& c : kCases) {
    if (!absl::StrContains(NameOf(c), FLAGS_cases)) continue;
    const Pool pool(c);
    for (const int rows : kRowCounts) RETURN_IF_ERROR(MeasureRows(c, pool, rows, table));
  }
  std::printf("%s", table.ToString().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain({.usage = "products_benchmark [flags]"}, strata::Run, argc, argv);
}
