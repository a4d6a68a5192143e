// What lies between the products of a layer, for many rows: norm with the residual rule, the
// router, and queries, keys and values before attention. The bits are those of norm_rows.h,
// route_rows.h and prepare_heads.h, whose structs are used here too.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_LAYERS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_LAYERS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/route_rows.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

// Of any number of rows; task.gather is null. residual.sum may be x.
absl::Status NormPromptRows(const NormTask& task, const KernelStream& stream);

// Values of `vectors` in its int8 forms: hidden vectors, results of attention.
struct PromptQuantizeTask {
  int num_vectors = 0;
  DeviceActivations vectors;  // `values` is given.
  int vectors_per_row = 1;    // For reports.
  FaultReport fault;
};
absl::Status QuantizePromptRows(const PromptQuantizeTask& task, const KernelStream& stream);

// Products of f32 activations with a router in the F32 order, and its choice.
struct PromptRouteTask {
  int num_rows = 0;
  DeviceActivations x;  // `values`, [rows][size], 16-byte aligned; the size is a multiple of 4.
  DeviceRouter router;
  float* logits = nullptr;     // [rows][num_experts]
  int32_t* experts = nullptr;  // [rows][num_chosen], best first.
  float* weights = nullptr;    // [rows][num_chosen]
  FaultReport fault;           // As RouteTask's.
};
absl::Status RoutePromptRows(const PromptRouteTask& task, const KernelStream& stream);

// Queries and keys get their norm and their rotation, keys and values are stored in their pages.
struct PromptPrepareTask {
  PromptRuns runs;
  int num_heads = 0;
  KvLayer kv;
  DeviceHeads query, key, value;
  DeviceHeadNorm query_norm, key_norm;
  float epsilon = 0.0f;
  DeviceRotation rotation;  // `angles` by row.
  std::byte* const* page_table = nullptr;
  float* queries = nullptr;  // [rows][num_heads][key_size]; not query.values.
  FaultReport fault;
};
absl::Status PreparePromptHeads(const PromptPrepareTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_LAYERS_H_
