// Causal softmax attention of many rows over their sequences' pages of the KV cache, on tensor
// cores.
//
// The bits of a row depend on its queries, on the keys and values that it sees and on the shape of
// the layer, and on nothing else. Keys are taken in pages, ascending from the first that it sees:
// scores are f32 sums on tensor cores; m becomes the maximum so far, a = Exp(m_old - m),
// p = Exp(score - m); sum = fma(sum, a, p by key) and out = a * out, to which tensor cores add
// p * values. A key that a row does not see has p = 0, which changes nothing. The sink comes last,
// as a key of that score without value; then a division.
//
// f16 keys and values are exact and queries and probabilities the sum of two halves, the queries of
// a head under a power of two of their own. int8 keys and values are exact too: their codes are,
// and meet scales in f32; the other operand is the sum of three bfloat16. For f32 both are.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

struct PromptAttendTask {
  PromptRuns runs;    // Whose keys and values are stored.
  int num_heads = 0;  // A multiple of kv.num_heads; neighbouring heads share one.
  KvLayer kv;         // Heads of up to 256 values.
  float scale = 1.0f;
  int64_t window = 0;            // A row sees itself and the window - 1 before it; 0: all.
  const float* sinks = nullptr;  // [num_heads]; null: none.
  std::byte* const* page_table = nullptr;
  const float* queries = nullptr;  // [rows][num_heads][key_size], 16-byte aligned.
  // [rows][num_heads * value_size] in the forms that the output's matrix wants; `values` is always
  // given.
  DeviceActivations out;
  FaultReport fault;
};

// kUnimplemented for larger heads; else an error of the launch.
absl::Status AttendPromptRows(const PromptAttendTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_ATTEND_H_
