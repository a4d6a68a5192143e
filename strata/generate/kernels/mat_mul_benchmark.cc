// How fast products run on each instruction set, next to a plain read of as many bytes.
//
//   bazel run //strata/generate/kernels:mat_mul_benchmark -- --threads=2
//
// For each type of weights: GB/s of weights met by one vector, from a matrix larger than the last
// cache; and billions of multiply-adds per second with many vectors. The ways are measured in turn,
// round after round, so that what else the machine does hits them alike.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gflags/gflags.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/text_table.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/cpu_name.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/kernels/run_on_isa.h"
#include "strata/generate/model/weight_matrix.h"

DEFINE_string(types,
              "q4_K,q5_K,q6_K,q8_0,q4_0,mxfp4,iq4_xs,iq2_xs,iq2_s,iq3_xxs,iq3_s,q2_0,f16,bf16,f32",
              "Types of weights, separated by commas; all: every one.");
DEFINE_int32(threads, 2, "Threads that share a product.");
DEFINE_int32(matrix_mb, 600, "Megabytes of weights met by one vector: more than the last cache.");
DEFINE_int32(columns, 2048, "Columns of every matrix.");
DEFINE_int32(vectors, 128, "Vectors of the product with many.");
DEFINE_int32(rounds, 7, "Rounds of measurements.");
DEFINE_bool(json, false, "Print one JSON object instead of text.");
DEFINE_validator(threads, &strata::IsPositive);
DEFINE_validator(matrix_mb, &strata::IsPositive);
DEFINE_validator(columns, &strata::IsPositive);
DEFINE_validator(vectors, &strata::IsPositive);
DEFINE_validator(rounds, &strata::IsPositive);

namespace strata {
namespace {

constexpr int kDistinctRows = 61;
constexpr int64_t kManyVectorsRows = 512;
// Scalar kernels are tens of times slower: they get a part of the rows.
constexpr int64_t kScalarShare = 16;

struct Rates {
  std::vector<double> values;

  double Median() {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  double Lowest() const { return *std::min_element(values.begin(), values.end()); }
  double Highest() const { return *std::max_element(values.begin(), values.end()); }
};

Json ToJson(Rates& rates) {
  return {{"median", rates.Median()}, {"lowest", rates.Lowest()}, {"highest", rates.Highest()}};
}

double SecondsOf(absl::FunctionRef<void()> work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A matrix of random weights of one type and vectors for it.
class Bench {
 public:
  Bench(BlockType type, ThreadPool& pool, std::vector<std::byte>& memory)
      : pool_(pool), weights_({type, 0, FLAGS_columns, memory.data()}), buffers_(FLAGS_vectors) {
    std::mt19937 random(1);
    const std::vector<std::byte> some =
        RandomWeights(type, int64_t{kDistinctRows} * FLAGS_columns, random);
    for (size_t at = 0; at < memory.size(); at += some.size()) {
      std::memcpy(&memory[at], some.data(), std::min(some.size(), memory.size() - at));
    }
    weights_.rows = static_cast<int64_t>(memory.size()) / weights_.row_bytes();
    values_.resize(FLAGS_vectors);
    for (int v = 0; v < FLAGS_vectors; ++v) {
      values_[v] = RandomActivations(FLAGS_columns, random);
      is_finite_ = buffers_[v].Assign(*ActivationFormOf(type), values_[v]) && is_finite_;
      xs_.push_back(buffers_[v].view());
      results_.emplace_back(v == 0 ? weights_.rows : std::min(kManyVectorsRows, weights_.rows));
      ys_.push_back(results_[v].data());
    }
  }

  // Bytes of weights per second met by one vector.
  double OneVectorRate(Isa isa) {
    const int64_t rows = isa == Isa::kScalar ? weights_.rows / kScalarShare : weights_.rows;
    return static_cast<double>(rows * weights_.row_bytes()) / Run(isa, rows, 1);
  }

  // Multiply-adds per second with all vectors.
  double ManyVectorsRate(Isa isa) {
    const int64_t all = std::min(kManyVectorsRows, weights_.rows);
    const int64_t rows = isa == Isa::kScalar ? all / kScalarShare : all;
    return static_cast<double>(rows * weights_.columns * FLAGS_vectors) /
           Run(isa, rows, FLAGS_vectors);
  }

  // Bytes per second of a loop that adds up words.
  double ReadRate() {
    SetIsa(BestIsa());
    constexpr int64_t kPieceBytes = 64 << 10;
    const int64_t num_pieces = weights_.rows * weights_.row_bytes() / kPieceBytes;
    std::atomic<uint64_t> total = 0;
    const double seconds = SecondsOf([&] {
      pool_.ParallelFor(num_pieces, 16, [&](const ThreadPool::Piece& piece) {
        const std::byte* const bytes = weights_.data;
        uint64_t sum = 0;
        RunOnCurrentIsa([&sum, bytes, piece ]() __attribute__((always_inline)) {
          // A word at a time would be bound by its instructions and not by memory.
          constexpr int64_t kLanes = 32;
          uint64_t words[kLanes] = {};
          constexpr int64_t kStep = kLanes * int64_t{sizeof(uint64_t)};
          for (int64_t at = piece.begin * kPieceBytes; at < piece.end * kPieceBytes; at += kStep) {
            uint64_t some[kLanes];
            std::memcpy(some, bytes + at, sizeof(some));
            for (int64_t lane = 0; lane < kLanes; ++lane) words[lane] += some[lane];
          }
          for (const uint64_t word : words) sum += word;
        });
        total += sum;
      });
    });
    is_finite_ = is_finite_ && total != 0;  // So that the loop has a use.
    return static_cast<double>(num_pieces * kPieceBytes) / seconds;
  }

  bool is_finite() const { return is_finite_; }

 private:
  double Run(Isa isa, int64_t rows, int num_vectors) {
    SetIsa(isa);
    const auto xs = absl::MakeConstSpan(xs_).first(num_vectors);
    const auto ys = absl::MakeConstSpan(ys_).first(num_vectors);
    std::atomic<bool> is_finite = true;
    const double seconds = SecondsOf([&] {
      pool_.ParallelFor(rows / 16, 1, [&](const ThreadPool::Piece& piece) {
        const RowRange range = {piece.begin * 16, piece.end * 16};
        if (!MatMul(weights_, range, xs, ys)) is_finite = false;
      });
    });
    is_finite_ = is_finite_ && is_finite;
    return seconds;
  }

  ThreadPool& pool_;
  WeightMatrix weights_;
  std::vector<std::vector<float>> values_;
  std::vector<ActivationBuffer> buffers_;
  std::vector<ActivationView> xs_;
  std::vector<std::vector<float>> results_;
  std::vector<float*> ys_;
  bool is_finite_ = true;
};

struct TypeRates {
  Rates read;
  std::vector<Rates> one_vector;    // By instruction set.
  std::vector<Rates> many_vectors;  // Likewise.
};

std::vector<Isa> SupportedIsas() {
  std::vector<Isa> isas;
  for (Isa isa : AllIsas()) {
    if (IsSupported(isa)) isas.push_back(isa);
  }
  return isas;
}

TypeRates Measure(Bench& bench, absl::Span<const Isa> isas) {
  TypeRates rates;
  rates.one_vector.resize(isas.size());
  rates.many_vectors.resize(isas.size());
  for (int round = -1; round < FLAGS_rounds; ++round) {  // The first warms up.
    const double read = bench.ReadRate();
    if (round >= 0) rates.read.values.push_back(read);
    for (size_t i = 0; i < isas.size(); ++i) {
      const double one = bench.OneVectorRate(isas[i]);
      const double many = bench.ManyVectorsRate(isas[i]);
      if (round < 0) continue;
      rates.one_vector[i].values.push_back(one);
      rates.many_vectors[i].values.push_back(many);
    }
  }
  return rates;
}

absl::StatusOr<std::vector<BlockType>> TypesOf(const std::string& names) {
  std::vector<BlockType> types;
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    if (names == "all" && ActivationFormOf(info.type).has_value()) types.push_back(info.type);
  }
  if (names == "all") return types;
  for (const auto& name : absl::StrSplit(names, ',')) {
    const auto* found =
        std::find_if(AllBlockTypes().begin(), AllBlockTypes().end(), [&](const auto& info) {
          return absl::AsciiStrToUpper(info.name) == absl::AsciiStrToUpper(name);
        });
    if (found == AllBlockTypes().end() || !ActivationFormOf(found->type).has_value()) {
      return UsageError(absl::StrCat("\"", name, "\" is no type of weights"));
    }
    types.push_back(found->type);
  }
  return types;
}

// In 10^9 a second: the median, then the range.
std::string Cell(Rates& rates) {
  return absl::StrFormat("%.2f (%.2f-%.2f)", rates.Median() / 1e9, rates.Lowest() / 1e9,
                         rates.Highest() / 1e9);
}

void AddRow(absl::string_view name, TypeRates& rates, TextTable& table) {
  std::vector<std::string> cells = {std::string(name), Cell(rates.read)};
  for (Rates& one : rates.one_vector) cells.push_back(Cell(one));
  cells.push_back(
      absl::StrFormat("%.0f%%", 100 * rates.one_vector.back().Median() / rates.read.Median()));
  for (Rates& many : rates.many_vectors) cells.push_back(Cell(many));
  table.AddRow(cells);
}

Json RowJson(absl::string_view name, absl::Span<const Isa> isas, TypeRates& rates) {
  Json row = {{"type", std::string(name)}, {"read", ToJson(rates.read)}};
  for (size_t i = 0; i < isas.size(); ++i) {
    row["one_vector"][std::string(NameOf(isas[i]))] = ToJson(rates.one_vector[i]);
    row["many_vectors"][std::string(NameOf(isas[i]))] = ToJson(rates.many_vectors[i]);
  }
  return row;
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) return UsageError("mat_mul_benchmark takes flags only");
  ASSIGN_OR_RETURN(const std::vector<BlockType> types, TypesOf(FLAGS_types));
  const std::vector<Isa> isas = SupportedIsas();
  ThreadPool pool(FLAGS_threads);
  std::vector<std::byte> memory(int64_t{FLAGS_matrix_mb} * 1000 * 1000);
  TextTable table("lr" + std::string(2 * isas.size() + 1, 'r'));
  std::vector<std::string> heads = {"type", "read GB/s"};
  for (Isa isa : isas) heads.push_back(absl::StrCat(NameOf(isa), " GB/s"));
  heads.push_back("of read");
  for (Isa isa : isas) heads.push_back(absl::StrCat(NameOf(isa), " GMAC/s"));
  table.AddRow(heads);
  Json json = {
      {"cpu", CpuName()},         {"threads", FLAGS_threads}, {"matrix_mb", FLAGS_matrix_mb},
      {"columns", FLAGS_columns}, {"vectors", FLAGS_vectors}, {"rounds", FLAGS_rounds}};
  for (BlockType type : types) {
    const BlockTypeInfo& info = InfoOf(type);
    if (FLAGS_columns % info.block_weights != 0) {
      return UsageError(absl::StrCat("--columns must be whole blocks of ", info.name));
    }
    Bench bench(type, pool, memory);
    TypeRates rates = Measure(bench, isas);
    if (!bench.is_finite()) return absl::InternalError("a product was not finite");
    AddRow(info.name, rates, table);
    json["types"].push_back(RowJson(info.name, isas, rates));
  }
  if (FLAGS_json) {
    PrintJson(json);
    return absl::OkStatus();
  }
  std::printf(
      "%s; %d threads, %d MB of weights, %d columns; %d vectors; median of %d rounds (range)\n%s",
      CpuName().c_str(), FLAGS_threads, FLAGS_matrix_mb, FLAGS_columns, FLAGS_vectors, FLAGS_rounds,
      table.ToString().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain({.usage = "mat_mul_benchmark [flags]", .json = &FLAGS_json}, strata::Run,
                          argc, argv);
}
