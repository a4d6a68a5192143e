#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/generate/kernels/cuda/draw_key.h"
#include "strata/generate/kernels/cuda/draw_tokens.h"
#include "strata/generate/kernels/cuda/lanes.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 64;
constexpr int kAtOnce = 4;

__device__ __forceinline__ uint64_t MaxOfBlock(uint64_t key) {
  __shared__ uint64_t of_warps[kThreads / 32];
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    const uint64_t other = __shfl_xor_sync(kAllLanes, key, mask);
    key = other > key ? other : key;
  }
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = key;
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    key = of_warps[warp] > key ? of_warps[warp] : key;
  }
  return key;
}

// The best of this block's logits of a row; they are divided and go to the host on the way.
__device__ __forceinline__ void LookThrough(const DrawTask& task, int wanted) {
  float* const logits = task.logits + wanted * task.vocabulary;
  float* const host_logits =
      task.host_logits == nullptr ? nullptr : task.host_logits + wanted * task.vocabulary;
  const bool divides = task.logit_scale != 1.0f;
  uint64_t best = 0;
  bool is_finite = true;
  constexpr int64_t kStep = int64_t{kBlocks} * kThreads;
  for (int64_t begin = blockIdx.x * kThreads + threadIdx.x; begin < task.vocabulary;
       begin += kAtOnce * kStep) {
    float values[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t id = begin + k * kStep;
      values[k] = id < task.vocabulary ? logits[id] : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t id = begin + k * kStep;
      if (id >= task.vocabulary) break;
      const float value = divides ? f32::Div(values[k], task.logit_scale) : values[k];
      if (divides) logits[id] = value;
      if (host_logits != nullptr) host_logits[id] = value;
      if (!f32::IsFinite(value)) {
        is_finite = false;
        continue;
      }
      const uint64_t key = DrawKey(value, static_cast<uint32_t>(id));
      best = key > best ? key : best;
    }
  }
  if (!is_finite) ReportFault(task.fault, task.step->wanted[wanted]);
  best = MaxOfBlock(best);
  if (threadIdx.x == 0) {
    atomicMax(reinterpret_cast<unsigned long long*>(&task.best[wanted]),
              static_cast<unsigned long long>(best));
  }
}

// By the last block: tokens to where the next step and the host find them, and all else that the
// host wants to know.
__device__ __forceinline__ void StoreResult(const DrawTask& task, int num_wanted) {
  if (static_cast<int>(threadIdx.x) < num_wanted) {
    const int wanted = threadIdx.x;
    const uint64_t best = atomicExch(reinterpret_cast<unsigned long long*>(&task.best[wanted]), 0);
    const int32_t token = TokenOfDrawKey(best);
    task.drawn[task.step->rows[task.step->wanted[wanted]].sequence] = token;
    task.result->drawn[wanted] = token;
  }
  if (threadIdx.x == 0) {
    task.result->num_drawn = num_wanted;
    task.result->fault = atomicOr(task.fault.word, 0);
  }
#pragma unroll
  for (const ResultCopy& copy : task.copies) {
    const auto* const from = reinterpret_cast<const uint4*>(copy.from);
    auto* const to = reinterpret_cast<uint4*>(copy.to);
    for (int64_t i = threadIdx.x; i < copy.bytes / 16; i += kThreads) to[i] = from[i];
  }
}

// Blocks (., wanted row).
__global__ void __launch_bounds__(kThreads) Draw(DrawTask task) {
  WaitForPredecessor();
  ReleaseSuccessor();
  const int num_wanted = min(task.step->num_wanted, task.max_wanted);
  const int wanted = blockIdx.y;
  if (wanted < num_wanted) LookThrough(task, wanted);
  if (IsLastBlock(task.ticket, gridDim.x * gridDim.y)) StoreResult(task, num_wanted);
}

}  // namespace

absl::Status DrawTokens(const DrawTask& task, const KernelStream& stream) {
  CHECK(0 <= task.max_wanted && task.max_wanted <= kMaxRows) << task.max_wanted;
  CHECK(0 < task.vocabulary && task.vocabulary <= INT32_MAX) << task.vocabulary;
  for (const ResultCopy& copy : task.copies) CHECK_EQ(copy.bytes % 16, 0);
  return LaunchKernel("choice of tokens", Draw,
                      {.grid = dim3(kBlocks, std::max(1, task.max_wanted)), .block = kThreads},
                      stream, task);
}

}  // namespace strata
