#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/async_copy.h"
#include "strata/generate/kernels/cuda/choose_experts.h"
#include "strata/generate/kernels/cuda/int8_forms.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/residual_row.h"
#include "strata/generate/kernels/cuda/route_rows.h"

namespace strata {
namespace {

constexpr int kWarps = kRowThreads / 32;
constexpr int kValuesPerWarp = 256;

// Rows [first, first + count) of the router to shared memory.
__device__ __forceinline__ void FetchRouterRows(const RouteTask& task, int first, int count,
                                                float4* rows) {
  const int64_t size = task.norm.out.size;
  const auto* from = reinterpret_cast<const float4*>(task.router.weights + first * size);
  const int num_words = static_cast<int>(count * size / 4);
  for (int i = threadIdx.x; i < num_words; i += kRowThreads) {
    CopySixteenAsync(rows + i, from + i);
  }
}

// The state in shared memory becomes the normed activation; each thread does the elements that it
// stored. Blocks share the storing of the state.
__device__ __forceinline__ void NormState(const NormTask& task, int row, float inverse,
                                          float* state) {
  const int size = static_cast<int>(task.out.size);
  unsigned turn = 0;
  for (int i = threadIdx.x; i < size; i += kRowThreads, ++turn) {
    const float value = state[i];
    if (task.residual.part != nullptr && turn % gridDim.x == blockIdx.x) {
      task.residual.sum[int64_t{row} * size + i] = value;
    }
    const float normed = f32::Mul(inverse, value);
    state[i] = task.weight == nullptr ? normed : f32::Mul(normed, task.weight[i]);
  }
}

// A warp computes the product of one row of the router with the activation.
__device__ __forceinline__ void StoreLogit(const RouteTask& task, int row, int expert,
                                           const float4* weights, const float4* activation) {
  const int num_words = static_cast<int>(task.norm.out.size / 4);
  const int lane = threadIdx.x % 32;
  float4 accumulators = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 4
  for (int i = lane; i < num_words; i += 32) FmaFour(weights[i], activation[i], accumulators);
  float logit = FoldWarp(accumulators);
  const DeviceRouter& router = task.router;
  if (router.logit_scale != 1.0f) logit = f32::Mul(logit, router.logit_scale);
  if (router.logit_bias != nullptr) logit = f32::Add(logit, router.logit_bias[expert]);
  if (lane != 0) return;
  if (!f32::IsFinite(logit)) {
    ReportFault(task.fault, row);
    logit = 0.0f;
  }
  task.logits[int64_t{row} * router.num_experts + expert] = logit;
}

// The blocks of a row share the 256s of its activation.
__device__ __forceinline__ void StoreActivation(const NormTask& task, int row,
                                                const float4* activation) {
  const int size = static_cast<int>(task.out.size);
  const int lane = threadIdx.x % 32;
  const int warp = blockIdx.x * kWarps + threadIdx.x / 32;
  const int num_warps = gridDim.x * kWarps;
  for (int begin = warp * kValuesPerWarp; begin < size; begin += num_warps * kValuesPerWarp) {
    const int i = begin + 8 * lane;
    EightValues values = {};
    if (i < size) {
      const float4 low = activation[i / 4];
      const float4 high = activation[i / 4 + 1];
      values = {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
    }
    StoreForms(task.out, row, i, i < size, values, task.fault, row);
  }
}

// Block (i, row) has `rows_per_block` rows of the router.
__global__ void __launch_bounds__(kRowThreads) Route(RouteTask task, int rows_per_block) {
  extern __shared__ float4 shared[];
  __shared__ RoutingScratch scratch;
  const DeviceRouter& router = task.router;
  float4* const activation = shared;
  float4* const router_rows = shared + task.norm.out.size / 4;
  const int first = blockIdx.x * rows_per_block;
  const int count = min(rows_per_block, router.num_experts - first);
  const int row = blockIdx.y;
  FetchRouterRows(task, first, count, router_rows);
  PrefetchNormWeights(task.norm);
  WaitForPredecessor();
  ReleaseSuccessor();
  auto* const state = reinterpret_cast<float*>(activation);
  NormState(task.norm, row, MakeState(task.norm, row, state), state);
  WaitForAsyncCopies();
  __syncthreads();
  const int warp = threadIdx.x / 32;
  if (warp < count) {
    StoreLogit(task, row, first + warp, router_rows + warp * (task.norm.out.size / 4), activation);
  }
  StoreActivation(task.norm, row, activation);
  if (!IsLastBlock(&task.tickets[row], gridDim.x)) return;
  const float* const logits = task.logits + int64_t{row} * router.num_experts;
  for (int e = threadIdx.x; e < router.num_experts; e += kRowThreads) {
    scratch.logits[e] = LoadFromL2(logits + e);
  }
  ChooseExperts(router, scratch, task.experts + row * router.num_chosen,
                task.weights + row * router.num_chosen);
}

size_t SharedBytes(int64_t size, int rows_per_block) {
  return (1 + rows_per_block) * size * sizeof(float);
}

// As many as there are warps, unless the rows are long: every card has this much shared memory.
int RowsPerBlock(int64_t size) {
  constexpr size_t kSharedBytes = 80 << 10;
  int rows = kWarps;
  while (rows > 1 && SharedBytes(size, rows) > kSharedBytes) rows /= 2;
  return rows;
}

void CheckRouter(const DeviceRouter& router) {
  CHECK(0 < router.num_experts && router.num_experts <= kMaxRoutedExperts) << router.num_experts;
  CHECK(0 < router.num_chosen && router.num_chosen <= kMaxRouterChoices) << router.num_chosen;
  CHECK(router.num_groups > 0 && router.num_experts % router.num_groups == 0)
      << router.num_experts << " experts in " << router.num_groups << " groups";
  CHECK(router.num_chosen <= router.num_experts / router.num_groups * router.num_groups_used)
      << router.num_chosen << " of " << router.num_experts;
}

}  // namespace

absl::Status RouteRows(const RouteTask& task, const KernelStream& stream) {
  const NormTask& norm = task.norm;
  CHECK(0 < norm.num_rows && norm.num_rows <= kMaxRows) << norm.num_rows;
  CHECK(norm.out.size > 0 && norm.out.size % 8 == 0) << norm.out.size;
  CHECK(norm.gather == nullptr);
  CHECK(norm.residual.part == nullptr || norm.residual.sum != norm.x);
  CheckRouter(task.router);
  const int rows_per_block = RowsPerBlock(norm.out.size);
  const size_t shared_bytes = SharedBytes(norm.out.size, rows_per_block);
  RETURN_IF_ERROR(AllowSharedBytes("router", Route, shared_bytes));
  const int num_blocks = (task.router.num_experts + rows_per_block - 1) / rows_per_block;
  return LaunchKernel(
      "router", Route,
      {.grid = dim3(num_blocks, norm.num_rows), .block = kRowThreads, .shared_bytes = shared_bytes},
      stream, task, rows_per_block);
}

}  // namespace strata
