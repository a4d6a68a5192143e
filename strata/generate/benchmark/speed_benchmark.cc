#include "strata/generate/benchmark/speed_benchmark.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/benchmark/expert_reads.h"
#include "strata/generate/benchmark/plain_read.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/dense_reads.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

// What is measured with one number of threads.
class Bench {
 public:
  Bench(const GgufFile& file, const ModelGraph& graph, const SpeedOptions& options, int threads)
      : file_(file),
        graph_(graph),
        options_(options),
        engine_(file, graph, {.num_threads = threads, .kv_type = options.kv_type}),
        sequence_(engine_),
        read_pool_(threads) {
    result_.threads = threads;
  }

  // Finds out what is to be read, and brings it into memory.
  absl::Status WarmUp() {
    RETURN_IF_ERROR(FeedPrompt());
    const Engine::Counters before = engine_.counters();
    PlanDenseReads();
    RETURN_IF_ERROR(Decode(
        [this](int64_t step, const StepRouting& routing) { PlanExpertReads(step, routing); }));
    result_.routed = engine_.counters().routed - before.routed;
    ReadPlainly();
    return absl::OkStatus();
  }

  absl::Status Repeat() {
    const Stopwatch prompt;
    RETURN_IF_ERROR(FeedPrompt());
    result_.prompt.push_back(prompt.seconds());
    const Stopwatch decode;
    RETURN_IF_ERROR(Decode([](int64_t /*step*/, const StepRouting& /*routing*/) {}));
    result_.decode.push_back(decode.seconds());
    const Stopwatch read;
    ReadPlainly();
    result_.read.push_back(read.seconds());
    return absl::OkStatus();
  }

  const SpeedResult& result() const { return result_; }

 private:
  absl::Status FeedPrompt() {
    sequence_.Rewind(0);
    absl::Span<const TokenId> left =
        absl::MakeConstSpan(options_.ids).subspan(0, static_cast<size_t>(options_.num_prompt));
    while (!left.empty()) {
      const auto batch = left.subspan(0, static_cast<size_t>(options_.prompt_batch));
      left.remove_prefix(batch.size());
      RETURN_IF_ERROR(sequence_.Feed(batch, {.draws = left.empty()}).status());
    }
    return absl::OkStatus();
  }

  // Tells of each step's routing.
  absl::Status Decode(absl::FunctionRef<void(int64_t step, const StepRouting& routing)> told) {
    const auto ids = absl::MakeConstSpan(options_.ids);
    for (int64_t i = 0; i < options_.num_decode; ++i) {
      const size_t position = static_cast<size_t>(options_.num_prompt + i);
      ASSIGN_OR_RETURN(const StepResult* result,
                       sequence_.Feed(ids.subspan(position, 1), {.draws = true}));
      told(i, result->routing);
    }
    return absl::OkStatus();
  }

  void PlanDenseReads() {
    const std::vector<WeightBytes> dense = DenseReads(graph_);
    result_.dense_bytes = SumOfSizes(dense);
    reads_.resize(static_cast<size_t>(options_.num_decode));
    for (PlainRead& read : reads_) {
      for (const WeightBytes& part : dense) read.Add(part);
    }
  }

  void PlanExpertReads(int64_t step, const StepRouting& routing) {
    const std::vector<WeightBytes> experts = ExpertReads(file_, graph_, routing);
    result_.expert_bytes += SumOfSizes(experts);
    for (const WeightBytes& part : experts) reads_[static_cast<size_t>(step)].Add(part);
  }

  void ReadPlainly() {
    for (const PlainRead& read : reads_) read.Run(read_pool_);
  }

  const GgufFile& file_;
  const ModelGraph& graph_;
  const SpeedOptions& options_;
  CpuEngine engine_;
  Sequence sequence_;
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
