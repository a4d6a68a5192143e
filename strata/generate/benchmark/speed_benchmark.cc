#include "strata/generate/benchmark/speed_benchmark.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/benchmark/expert_reads.h"
#include "strata/generate/benchmark/plain_read.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/model/dense_reads.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/sampling/sampler.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What is measured with one number of threads.
class Bench {
 public:
  Bench(const GgufFile& file, const ModelGraph& graph, const SpeedOptions& options, int threads)
      : graph_(graph),
        options_(options),
        engine_(file, graph, {.num_threads = threads, .kv_type = options.kv_type}),
        sampler_(SamplerOptions()),
        read_pool_(threads) {
    result_.threads = threads;
  }

  // Finds out what is to be read, and brings it into memory.
  absl::Status WarmUp() {
    RETURN_IF_ERROR(FeedPrompt());
    const Engine::Counters before = engine_.counters();
    ExpertReads experts(graph_);
    engine_.set_observer(&experts);
    const absl::Status status = Decode();
    engine_.set_observer(nullptr);
    RETURN_IF_ERROR(status);
    PlanReads(experts);
    result_.routed = engine_.counters().routed - before.routed;
    ReadPlainly();
    return absl::OkStatus();
  }

  absl::Status Repeat() {
    const Stopwatch prompt;
    RETURN_IF_ERROR(FeedPrompt());
    result_.prompt.push_back(prompt.seconds());
    const Stopwatch decode;
    RETURN_IF_ERROR(Decode());
    result_.decode.push_back(decode.seconds());
    const Stopwatch read;
    ReadPlainly();
    result_.read.push_back(read.seconds());
    return absl::OkStatus();
  }

  const SpeedResult& result() const { return result_; }

 private:
  absl::Status FeedPrompt() {
    engine_.Rewind(0);
    absl::Span<const TokenId> left =
        absl::MakeConstSpan(options_.ids).subspan(0, static_cast<size_t>(options_.num_prompt));
    while (!left.empty()) {
      const auto batch = left.subspan(0, static_cast<size_t>(options_.prompt_batch));
      left.remove_prefix(batch.size());
      const auto want = left.empty() ? Engine::Want::kLastLogits : Engine::Want::kNothing;
      RETURN_IF_ERROR(engine_.Step(batch, want).status());
    }
    return absl::OkStatus();
  }

  absl::Status Decode() {
    const auto ids = absl::MakeConstSpan(options_.ids);
    for (int64_t i = 0; i < options_.num_decode; ++i) {
      const size_t position = static_cast<size_t>(options_.num_prompt + i);
      ASSIGN_OR_RETURN(const Rows* logits,
                       engine_.Step(ids.subspan(position, 1), Engine::Want::kLastLogits));
      RETURN_IF_ERROR(sampler_.Sample(logits->row(0), ids.subspan(0, position + 1)).status());
    }
    return absl::OkStatus();
  }

  void PlanReads(const ExpertReads& experts) {
    const std::vector<WeightBytes> dense = DenseReads(graph_);
    result_.dense_bytes = SumOfSizes(dense);
    reads_.resize(static_cast<size_t>(options_.num_decode));
    for (PlainRead& read : reads_) {
      for (const WeightBytes& part : dense) read.Add(part);
    }
    // None for a model without experts.
    for (size_t i = 0; i < experts.steps().size(); ++i) {
      result_.expert_bytes += SumOfSizes(experts.steps()[i]);
      for (const WeightBytes& part : experts.steps()[i]) reads_[i].Add(part);
    }
  }

  void ReadPlainly() {
    for (const PlainRead& read : reads_) read.Run(read_pool_);
  }

  const ModelGraph& graph_;
  const SpeedOptions& options_;
  Engine engine_;
  Sampler sampler_;
  ThreadPool read_pool_;
  std::vector<PlainRead> reads_;  // By step of the decode.
  SpeedResult result_;
};

}  // namespace

absl::StatusOr<std::vector<SpeedResult>> MeasureSpeed(const GgufFile& file, const ModelGraph& graph,
                                                      const SpeedOptions& options) {
  CHECK(options.num_prompt > 0 && options.num_decode > 0 && options.prompt_batch > 0);
  CHECK_GE(static_cast<int64_t>(options.ids.size()), options.num_prompt + options.num_decode);
  std::vector<std::unique_ptr<Bench>> benches;
  for (const int threads : options.threads) {
    benches.push_back(std::make_unique<Bench>(file, graph, options, threads));
    RETURN_IF_ERROR(benches.back()->WarmUp());
  }
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    for (const std::unique_ptr<Bench>& bench : benches) RETURN_IF_ERROR(bench->Repeat());
  }
  std::vector<SpeedResult> results;
  for (const std::unique_ptr<Bench>& bench : benches) results.push_back(bench->result());
  return results;
}

}  // namespace strata
