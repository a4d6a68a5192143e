#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
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
// Rows of the router that a block has, one a warp when sums are folded.
constexpr int kBlockExperts = kWarps;
constexpr int kValuesAtOnce = kElementsAtOnce * kRowThreads;

// What a thread's elements are multiplied with: element k is number begin + k * kRowThreads.
struct OwnWeights {
  float norm[kElementsAtOnce];
  float router[kBlockExperts][kElementsAtOnce];
};

__device__ __forceinline__ void LoadOwnWeights(const RouteTask& task, int first_expert, int begin,
                                               OwnWeights& own) {
  const int size = static_cast<int>(task.norm.out.size);
  const int count = task.router.num_experts - first_expert;
  const float* const rows = task.router.weights + int64_t{first_expert} * size;
#pragma unroll
  for (int k = 0; k < kElementsAtOnce; ++k) {
    const int i = begin + k * kRowThreads;
    own.norm[k] = i < size && task.norm.weight != nullptr ? task.norm.weight[i] : 1.0f;
#pragma unroll
    for (int e = 0; e < kBlockExperts; ++e) {
      own.router[e][k] = i < size && e < count ? rows[int64_t{e} * size + i] : 0.0f;
    }
  }
}

// What LoadOwnWeights will load after the wait.
__device__ __forceinline__ void PrefetchLaterWeights(const RouteTask& task, int first_expert) {
  constexpr int kLine = 32;  // Floats of 128 bytes.
  const int64_t size = task.norm.out.size;
  const int end = min(first_expert + kBlockExperts, task.router.num_experts);
  for (int e = first_expert; e < end; ++e) {
    for (int64_t i = kValuesAtOnce + threadIdx.x * kLine; i < size; i += kRowThreads * kLine) {
      PrefetchToL2(task.router.weights + e * size + i);
    }
  }
}

// The blocks of a row share the storing of its state; each thread stores elements of its own.
__device__ __forceinline__ void StoreState(const NormTask& task, int row, const float* state) {
  const int size = static_cast<int>(task.out.size);
  for (int i = blockIdx.x * kRowThreads + threadIdx.x; i < size; i += gridDim.x * kRowThreads) {
    task.residual.sum[int64_t{row} * size + i] = state[i];
  }
}

// The state in shared memory becomes the normed activation; each thread does the elements that it
// stored, and adds their products with the block's rows of the router.
__device__ __forceinline__ void NormAndMultiply(const RouteTask& task, int first_expert,
                                                float inverse, OwnWeights& own, float* state,
                                                float (&sums)[kBlockExperts]) {
  const int size = static_cast<int>(task.norm.out.size);
  for (int begin = threadIdx.x; begin < size; begin += kValuesAtOnce) {
    if (begin >= kValuesAtOnce) LoadOwnWeights(task, first_expert, begin, own);
#pragma unroll
    for (int k = 0; k < kElementsAtOnce; ++k) {
      const int i = begin + k * kRowThreads;
      if (i >= size) continue;
      const float normed = f32::Mul(f32::Mul(inverse, state[i]), own.norm[k]);
      state[i] = normed;
#pragma unroll
      for (int e = 0; e < kBlockExperts; ++e) {
        sums[e] = f32::Fma(own.router[e][k], normed, sums[e]);
      }
    }
  }
}

__device__ __forceinline__ void StoreLogit(const RouteTask& task, int row, int expert,
                                           float logit) {
  const DeviceRouter& router = task.router;
  if (router.logit_scale != 1.0f) logit = f32::Mul(logit, router.logit_scale);
  if (router.logit_bias != nullptr) logit = f32::Add(logit, router.logit_bias[expert]);
  if (!f32::IsFinite(logit)) {
    ReportFault(task.fault, row);
    logit = 0.0f;
  }
  task.logits[int64_t{row} * router.num_experts + expert] = logit;
}

// The blocks of a row share the 256s of its activation, the first warp last: it takes the ticket.
__device__ __forceinline__ void StoreActivation(const NormTask& task, int row,
                                                const float4* activation) {
  const int size = static_cast<int>(task.out.size);
  const int warp = (kWarps - 1 - threadIdx.x / 32) * gridDim.x + blockIdx.x;
  const int stride = gridDim.x * kWarps * kValuesPerWarp;
  for (int begin = warp * kValuesPerWarp; begin < size; begin += stride) {
    const int i = begin + 8 * (threadIdx.x % 32);
    EightValues values = {};
    if (i < size) {
      const float4 low = activation[i / 4];
      const float4 high = activation[i / 4 + 1];
      values = {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
    }
    StoreForms(task.out, row, i, i < size, values, task.fault, row);
  }
}

// Block (i, row) has rows i * kBlockExperts and on of the router.
__global__ void __launch_bounds__(kRowThreads) Route(RouteTask task) {
  extern __shared__ float4 activation[];
  __shared__ RoutingScratch scratch;
  __shared__ float accumulators[kBlockExperts][kRowThreads];
  __shared__ bool is_last;
  const DeviceRouter& router = task.router;
  const int first_expert = blockIdx.x * kBlockExperts;
  const int row = blockIdx.y;
  const int warp = threadIdx.x / 32;
  OwnWeights own;
  LoadOwnWeights(task, first_expert, threadIdx.x, own);
  PrefetchLaterWeights(task, first_expert);
  PrefetchNormWeights(task.norm);
  WaitForPredecessor();
  ReleaseSuccessor();
  auto* const state = reinterpret_cast<float*>(activation);
  const float inverse = MakeState(task.norm, row, state);
  if (task.norm.residual.part != nullptr) StoreState(task.norm, row, state);
  float sums[kBlockExperts] = {};
  NormAndMultiply(task, first_expert, inverse, own, state, sums);
#pragma unroll
  for (int e = 0; e < kBlockExperts; ++e) accumulators[e][threadIdx.x] = sums[e];
  __syncthreads();
  const float logit = FoldShared(accumulators[warp]);
  const int expert = first_expert + warp;
  if (threadIdx.x % 32 == 0 && expert < router.num_experts) StoreLogit(task, row, expert, logit);
  __syncthreads();
  if (threadIdx.x == 0) is_last = TakeTicket(&task.tickets[row], gridDim.x);
  StoreActivation(task.norm, row, activation);
  __syncthreads();
  if (!is_last) return;
  const float* const logits = task.logits + int64_t{row} * router.num_experts;
  for (int e = threadIdx.x; e < router.num_experts; e += kRowThreads) {
    scratch.logits[e] = LoadFromL2(logits + e);
  }
  ChooseExperts(router, scratch, task.experts + row * router.num_chosen,
                task.weights + row * router.num_chosen);
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
  const size_t shared_bytes = norm.out.size * sizeof(float);
  RETURN_IF_ERROR(AllowSharedBytes("router", Route, shared_bytes));
  const int num_blocks = (task.router.num_experts + kBlockExperts - 1) / kBlockExperts;
  return LaunchKernel(
      "router", Route,
      {.grid = dim3(num_blocks, norm.num_rows), .block = kRowThreads, .shared_bytes = shared_bytes},
      stream, task);
}

}  // namespace strata
