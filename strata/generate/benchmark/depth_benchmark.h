// How fast a model decodes on a GPU at several depths of context, and how fast it reads the prompts
// that lead there, beside a plain read of the bytes of a step.
//
// The text is real and so is the routing: the first tokens are the prompt, and each step of the
// decode is fed the token that follows in the text. Every repetition of a depth begins at that
// position of the same text and with the same slots; decode and read take turns. The first
// repetition is not counted.
#ifndef STRATA_GENERATE_BENCHMARK_DEPTH_BENCHMARK_H_
#define STRATA_GENERATE_BENCHMARK_DEPTH_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/device.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

struct DepthOptions {
  std::vector<TokenId> ids;     // At least the greatest depth and num_decode.
  std::vector<int64_t> depths;  // Tokens of context before the decode.
  int64_t num_decode = 0;
  int64_t prompt_batch = 0;
  KvType kv_type = KvType::kF32;  // The engine's.
  int repetitions = 0;
};

// At one depth. Seconds, a value for each repetition.
struct DepthResult {
  int64_t depth = 0;
  std::vector<double> prompt;   // `depth` tokens from an empty context,
  std::vector<double> decode;   // num_decode tokens,
  std::vector<double> read;     // and as many reads of a step's bytes.
  std::vector<double> host_ms;  // The host's own time in a step of the decode.
  // Of a token of the decode: routed entries that slots served, as a share, bytes of experts that
  // were read in host memory, and experts that landed.
  std::vector<double> hit_share, missed_bytes, landed;
  int64_t dense_bytes = 0;      // Of a step: weights that all rows meet,
  int64_t expert_bytes = 0;     // experts that it was routed to,
  int64_t kv_bytes = 0;         // keys and values up to the depth.
  double link_bytes_per_s = 0;  // 0 where all experts have slots.
  int64_t step_bytes() const { return dense_bytes + expert_bytes + kv_bytes; }
};

// Errors of the engine.
absl::StatusOr<std::vector<DepthResult>> MeasureDepths(const GgufFile& file,
                                                       const ModelGraph& graph,
                                                       CudaStepEngine& engine, Device& device,
                                                       const DepthOptions& options);

// All facts of a run, and the same as text.
Json DepthReport(const GgufFile& file, const CudaStepEngine& engine, const DepthOptions& options,
                 absl::Span<const DepthResult> results);
std::string DepthText(const Json& report);

}  // namespace strata

#endif  // STRATA_GENERATE_BENCHMARK_DEPTH_BENCHMARK_H_
