#include <cstdint>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_feed_forward.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ void AddWeighted(float weight, const float4& x, float4& sum) {
  sum.x = f32::Fma(weight, x.x, sum.x);
  sum.y = f32::Fma(weight, x.y, sum.y);
  sum.z = f32::Fma(weight, x.z, sum.z);
  sum.w = f32::Fma(weight, x.w, sum.w);
}

__device__ __forceinline__ float4 AddProduct(const float4& residual, float scale, const float4& x) {
  return {f32::Add(residual.x, f32::Mul(scale, x.x)), f32::Add(residual.y, f32::Mul(scale, x.y)),
          f32::Add(residual.z, f32::Mul(scale, x.z)), f32::Add(residual.w, f32::Mul(scale, x.w))};
}

// A thread has four neighbouring values; blockIdx.y is the row.
__global__ void __launch_bounds__(kThreads)
    SumOfExperts(const __grid_constant__ PromptExpertSum p) {
  __shared__ float weights[kMaxChosenExperts];
  __shared__ float share;
  WaitForPredecessor();
  ReleaseSuccessor();
  const int64_t row = blockIdx.y;
  const int num_chosen = p.routing.num_chosen;
  if (threadIdx.x < static_cast<unsigned>(num_chosen)) {
    weights[threadIdx.x] = p.routing.weights[row * num_chosen + threadIdx.x];
  }
  if (threadIdx.x == 0) {
    share = p.shared_gate == nullptr ? 1.0f : f32::Sigmoid(p.shared_gate[row]);
  }
  __syncthreads();
  const int64_t words = p.size / 4;
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= words) return;
  const auto* const out = reinterpret_cast<const float4*>(p.out) + row * num_chosen * words + i;
  float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 8
  for (int rank = 0; rank < num_chosen; ++rank) AddWeighted(weights[rank], out[rank * words], sum);
  const int64_t at = row * words + i;
  if (p.shared != nullptr) {
    AddWeighted(share, reinterpret_cast<const float4*>(p.shared)[at], sum);
  }
  if (p.residual != nullptr) {
    sum = AddProduct(reinterpret_cast<const float4*>(p.residual)[at], p.residual_scale, sum);
  }
  reinterpret_cast<float4*>(p.y)[at] = sum;
}

}  // namespace

absl::Status LaunchPromptExpertSum(const PromptExpertSum& sum, const KernelStream& stream) {
  CHECK(sum.size > 0 && sum.size % 4 == 0) << sum.size;
  CHECK(0 < sum.routing.num_chosen && sum.routing.num_chosen <= kMaxChosenExperts)
      << sum.routing.num_chosen;
  const auto num_blocks = static_cast<unsigned>((sum.size / 4 + kThreads - 1) / kThreads);
  return LaunchKernel("sum of experts", SumOfExperts,
                      {.grid = dim3(num_blocks, sum.rows), .block = kThreads}, stream, sum);
}

}  // namespace strata
