// How fast a model reads a prompt and how fast it decodes, beside a plain read of the bytes that
// decoding reads.
//
// The text is real and so is the routing: the first tokens are the prompt, and each step of the
// decode is fed the token that follows in the text (what the model would have said is drawn, and
// not used). A repetition measures prompt, decode and read one after the other for each number of
// threads, so that whatever else the machine does hits all alike. The first repetition is not
// counted.
#ifndef STRATA_GENERATE_BENCHMARK_SPEED_BENCHMARK_H_
#define STRATA_GENERATE_BENCHMARK_SPEED_BENCHMARK_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

struct SpeedOptions {
  std::vector<TokenId> ids;  // The prompt and then the decode; at least as many as both.
  int64_t num_prompt = 0;
  int64_t num_decode = 0;
  int64_t prompt_batch = 0;
  KvType kv_type = KvType::kF32;
  std::vector<int> threads;  // To be measured with each of these numbers.
  int repetitions = 0;
};

// With one number of threads. Seconds, a value for each repetition.
struct SpeedResult {
  int threads = 0;
  std::vector<double> prompt;  // num_prompt tokens,
  std::vector<double> decode;  // num_decode tokens,
  std::vector<double> read;    // and the bytes that those read.
  int64_t dense_bytes = 0;     // Of a token of the decode.
  int64_t expert_bytes = 0;    // Of all tokens of the decode.
  int64_t routed = 0;          // (token, layer, rank) entries of the decode.
};

// Errors of Engine::Finish.
absl::StatusOr<std::vector<SpeedResult>> MeasureSpeed(const GgufFile& file, const ModelGraph& graph,
                                                      const SpeedOptions& options);

}  // namespace strata

#endif  // STRATA_GENERATE_BENCHMARK_SPEED_BENCHMARK_H_
