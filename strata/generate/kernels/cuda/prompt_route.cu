// The router of many rows. Products in the F32 order cost as many multiply-adds as there are, so
// what counts is how many of them a loaded value serves: thread j of 128 keeps accumulator j of
// kRows x kExperts products, and threads of four such groups share loads through the first cache.
#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/choose_experts.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_layers.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/residual_row.h"
#include "strata/generate/kernels/cuda/route_rows.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kRows = 8;
constexpr int kExperts = 8;
constexpr int kGroups = 4;  // Of 128 threads: two beside two.
constexpr int kThreads = 128 * kGroups;
constexpr int kFolded = 32;  // Products that a group folds at once.

// 32 products of a group, thread j of it having accumulator j of each in `own`. Lane l of the
// group's first warp gets product l.
__device__ __forceinline__ float FoldProducts(const float (&own)[kFolded],
                                              float (*shared)[kFolded][32]) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  // Accumulators j and j + 64, then j and j + 32.
  if (warp >= 2) {
#pragma unroll
    for (int i = 0; i < kFolded; ++i) shared[warp - 2][i][lane] = own[i];
  }
  __syncthreads();
  float folded[kFolded];
  if (warp < 2) {
#pragma unroll
    for (int i = 0; i < kFolded; ++i) folded[i] = f32::Add(own[i], shared[warp][i][lane]);
  }
  __syncthreads();
  if (warp == 1) {
#pragma unroll
    for (int i = 0; i < kFolded; ++i) shared[0][i][lane] = folded[i];
  }
  __syncthreads();
  float result = 0.0f;
  if (warp == 0) {
#pragma unroll
    for (int i = 0; i < kFolded; ++i) folded[i] = f32::Add(folded[i], shared[0][i][lane]);
      // Each step halves both the products that a lane has and the lanes that share one: a lane keeps
      // those whose number has the same bit as its own.
#pragma unroll
    for (int step = 0; step < 5; ++step) {
      const int half = 16 >> step;
      const bool is_upper = (lane & half) != 0;
#pragma unroll
      for (int i = 0; i < kFolded / 2; ++i) {
        if (i >= half) continue;
        const float sent = is_upper ? folded[i] : folded[i + half];
        const float kept = is_upper ? folded[i + half] : folded[i];
        folded[i] = f32::Add(kept, __shfl_xor_sync(kAllLanes, sent, half));
      }
    }
    result = folded[0];
  }
  __syncthreads();
  return result;
}

__device__ __forceinline__ void StoreLogit(const PromptRouteTask& task, int row, int expert,
                                           float logit) {
  const DeviceRouter& router = task.router;
  if (row >= task.num_rows || expert >= router.num_experts) return;
  if (router.logit_scale != 1.0f) logit = f32::Mul(logit, router.logit_scale);
  if (router.logit_bias != nullptr) logit = f32::Add(logit, router.logit_bias[expert]);
  if (!f32::IsFinite(logit)) {
    ReportPromptFault(task.fault, row);
    logit = 0.0f;
  }
  task.logits[int64_t{row} * router.num_experts + expert] = logit;
}

// Block (i, j) has 2 * kExperts experts from 2 * kExperts * i on of 2 * kRows rows.
__global__ void __launch_bounds__(kThreads, 1)
    RouterProducts(const __grid_constant__ PromptRouteTask task) {
  __shared__ float shared[kGroups][2][kFolded][32];
  WaitForPredecessor();
  ReleaseSuccessor();
  const DeviceRouter& router = task.router;
  const int64_t size = task.x.size;
  const int group = threadIdx.x / 128;
  const int first_row = (blockIdx.y * 2 + group / 2) * kRows;
  const int first_expert = (blockIdx.x * 2 + group % 2) * kExperts;
  const float* rows[kRows];
  const float* experts[kExperts];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    rows[i] = task.x.values + min(first_row + i, task.num_rows - 1) * size;
  }
#pragma unroll
  for (int i = 0; i < kExperts; ++i) {
    experts[i] = router.weights + min(first_expert + i, router.num_experts - 1) * size;
  }
  float products[kRows][kExperts] = {};
#pragma unroll 2
  for (int at = threadIdx.x % 128; at < size; at += 128) {
    float x[kRows];
    float weights[kExperts];
#pragma unroll
    for (int i = 0; i < kRows; ++i) x[i] = rows[i][at];
#pragma unroll
    for (int i = 0; i < kExperts; ++i) weights[i] = experts[i][at];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kExperts; ++j) {
        products[i][j] = f32::Fma(weights[j], x[i], products[i][j]);
      }
    }
  }
  constexpr int kRowsAtOnce = kFolded / kExperts;
#pragma unroll
  for (int begin = 0; begin < kRows; begin += kRowsAtOnce) {
    float own[kFolded];
#pragma unroll
    for (int i = 0; i < kFolded; ++i) own[i] = products[begin + i / kExperts][i % kExperts];
    const float logit = FoldProducts(own, shared[group]);
    const int lane = threadIdx.x % 128;
    if (lane < 32) {
      StoreLogit(task, first_row + begin + lane / kExperts, first_expert + lane % kExperts, logit);
    }
  }
}

// A block a row.
__global__ void __launch_bounds__(kRowThreads)
    Choose(const __grid_constant__ PromptRouteTask task) {
  __shared__ RoutingScratch scratch;
  WaitForPredecessor();
  ReleaseSuccessor();
  const DeviceRouter& router = task.router;
  const int64_t row = blockIdx.x;
  for (int e = threadIdx.x; e < router.num_experts; e += kRowThreads) {
    scratch.logits[e] = task.logits[row * router.num_experts + e];
  }
  ChooseExperts(router, scratch, task.experts + row * router.num_chosen,
                task.weights + row * router.num_chosen);
}

}  // namespace

absl::Status RoutePromptRows(const PromptRouteTask& task, const KernelStream& stream) {
  const DeviceRouter& router = task.router;
  CHECK(task.num_rows > 0 && task.x.values != nullptr);
  CHECK(0 < router.num_experts && router.num_experts <= kMaxRoutedExperts) << router.num_experts;
  CHECK(0 < router.num_chosen && router.num_chosen <= kMaxRouterChoices) << router.num_chosen;
  constexpr int kBlockExperts = 2 * kExperts;
  constexpr int kBlockRows = 2 * kRows;
  RETURN_IF_ERROR(
      LaunchKernel("router of a prompt", RouterProducts,
                   {.grid = dim3((router.num_experts + kBlockExperts - 1) / kBlockExperts,
                                 (task.num_rows + kBlockRows - 1) / kBlockRows),
                    .block = kThreads},
                   stream, task));
  return LaunchKernel("choice of a prompt", Choose,
                      {.grid = static_cast<unsigned>(task.num_rows), .block = kRowThreads}, stream,
                      task);
}

}  // namespace strata
